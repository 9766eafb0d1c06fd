package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"linkledger/commands/accounts"
	"linkledger/queries"
)

// The headers that carry credentials in place of HTTP Basic.
const (
	headerUser = "X-Tinycc-User"
	headerKey  = "X-Tinycc-Key"
)

// credentials returns the one pair of user name and API key that counts of a request: that of HTTP Basic, or without it
// that of the two headers. Parts of the one are never combined with parts of the other.
func credentials(r *http.Request) (username, key string, ok bool) {
	if username, key, ok = r.BasicAuth(); ok {
		return username, key, true
	}
	username, key = r.Header.Get(headerUser), r.Header.Get(headerKey)
	return username, key, username != "" && key != ""
}

// authenticate finds out who asks, by user name and API key. The key is compared first and a correct one is never refused
// for the sake of others; of failures an address learns the reason only so often.
func (s *server) authenticate(e *exchange) error {
	username, key, ok := credentials(e.request)
	if !ok {
		s.cfg.LoginRefused(loginWithoutCredentials)
		return &apiError{code: codeInvalidKey, details: "Send the user name and the API key by HTTP Basic authentication, " +
			"or both as X-Tinycc-User and X-Tinycc-Key"}
	}
	began := time.Now()
	account, refused, err := s.identify(e, username, key)
	if err != nil {
		return answered(err)
	}
	if refused == nil {
		e.account = account
		refused = s.usable(account)
	}
	if refused == nil {
		return nil
	}
	select {
	case <-time.After(failedLoginTime - time.Since(began)):
	case <-e.context().Done():
	}
	return s.refuseLogin(e, username, refused)
}

// failedLoginTime is how long a login takes to fail at least. The work takes less, so what it differs by does not show.
const failedLoginTime = 5 * time.Millisecond

// refusedLogin is why a login fails.
type refusedLogin struct {
	reason  string // one of those below
	code    code
	details string // for the client
}

// The reasons for which logins fail, in log and metrics.
const (
	loginWithoutCredentials = "no_credentials"
	loginUnknownUser        = "unknown_user"
	loginWrongKey           = "wrong_key"
	loginInactive           = "inactive"  // deactivated, expired or erased
	loginThrottled          = "throttled" // one of the two above that was answered without the reason
)

// identify finds the account and compares the key. What is in memory lets in and refuses nobody: an unknown user name and a
// wrong key are refused after the same question to the database.
func (s *server) identify(e *exchange, username, key string) (queries.Account, *refusedLogin, error) {
	hash := accounts.HashKey(key)
	account, _ := s.cfg.Accounts.Remembered(username)
	if accounts.SameKey(hash, account.KeyHash) {
		return account, nil, nil
	}
	account, err := s.cfg.Accounts.LookUp(e.context(), username)
	unknown := errors.Is(err, queries.ErrNotFound)
	if err != nil && !unknown {
		return queries.Account{}, nil, err
	}
	switch {
	case accounts.SameKey(hash, account.KeyHash):
		return account, nil, nil
	case unknown:
		return account, &refusedLogin{loginUnknownUser, codeInvalidUsername, "There is no account with this user name"}, nil
	}
	return account, &refusedLogin{loginWrongKey, codeInvalidKey, "The API key is not the one of this account"}, nil
}

// usable refuses accounts that are no longer in use.
func (s *server) usable(account queries.Account) *refusedLogin {
	switch {
	case account.Erased:
		return &refusedLogin{loginInactive, codeAccessDenied, "The account has been erased"}
	case !account.Active:
		return &refusedLogin{loginInactive, codeAccessDenied, "The account is not active"}
	case account.Expired(s.cfg.Now()):
		return &refusedLogin{loginInactive, codeAccessDenied, "The account has expired"}
	}
	return nil
}

// refuseLogin counts and logs a login that fails, and returns its error. One with the right key is always told why.
func (s *server) refuseLogin(e *exchange, username string, refused *refusedLogin) error {
	now, client := s.cfg.Now(), s.clientAddress(e.request)
	throttled := refused.code != codeAccessDenied && s.logins.failed(network(client), now)
	reason := refused.reason
	if throttled {
		reason = loginThrottled
	}
	s.cfg.LoginRefused(reason)
	if line, ok := s.loginLog.next(loginOf{clipName(username), client}, now); ok {
		s.cfg.Logger.WarnContext(e.context(), "login refused", slog.String("reason", refused.reason),
			slog.Bool("throttled", throttled), slog.String("account", line.account), slog.String("address", line.address),
			slog.Int("suppressed", line.suppressed), slog.Int("suppressed_others", line.others), slog.String("request", e.id))
	}
	if throttled {
		return &apiError{code: codeCallLimit, details: "There were too many bad logins from this address, wait a second"}
	}
	return &apiError{code: refused.code, details: refused.details}
}

// pseudonyms stand for values that are never stored.
type pseudonyms struct {
	macs sync.Pool // of hash.Hash: HMAC-SHA-256 with the key, whose set-up costs more than a sum
}

func newPseudonyms(key []byte) *pseudonyms {
	return &pseudonyms{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// of returns what stands for values: 16 bytes in hex, that nobody can compute without the key.
func (p *pseudonyms) of(values string) string {
	mac := p.macs.Get().(hash.Hash) //nolint:forcetypeassert // the pool holds nothing else
	defer p.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(values))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// address returns the address of whoever is connected, in one spelling.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	parsed, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return parsed.Unmap().WithZone("").String()
}
