package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"net"
	"net/netip"
	"sync"

	"linkledger/commands"
	"linkledger/queries"
)

// authenticate finds out who asks, by HTTP Basic with user name and API key. Whoever was wrong too often has to wait.
func (s *server) authenticate(e *exchange) error {
	username, key, ok := e.request.BasicAuth()
	if !ok {
		return &apiError{code: codeInvalidKey, details: "Send the user name and the API key by HTTP Basic authentication"}
	}
	from := s.pseudonyms.of(address(e.request.RemoteAddr) + "\n" + username)
	if !s.logins.allowed(from, s.cfg.Now()) {
		return &apiError{code: codeCallLimit, details: "There were too many bad logins, wait a second"}
	}
	err := s.identify(e, username, key)
	if refused, ok := errors.AsType[*apiError](err); ok && refused.code != codeAccessDenied {
		s.logins.failed(from, s.cfg.Now())
	}
	return err
}

// identify finds the account and compares the key.
func (s *server) identify(e *exchange, username, key string) error {
	account, err := s.cfg.Accounts.ByUsername(e.context(), username)
	if errors.Is(err, queries.ErrNotFound) {
		return &apiError{code: codeInvalidUsername, details: "There is no account with this user name"}
	}
	if err != nil {
		return answered(err)
	}
	if !commands.KeyMatches(key, account.KeyHash) {
		return &apiError{code: codeInvalidKey, details: "The API key is not the one of this account"}
	}
	e.account = account
	if account.Erased {
		return &apiError{code: codeAccessDenied, details: "The account has been erased"}
	}
	if !account.Active {
		return &apiError{code: codeAccessDenied, details: "The account is not active"}
	}
	if expired(account.ExpirationDate, s.cfg.Now()) {
		return &apiError{code: codeAccessDenied, details: "The account has expired"}
	}
	return nil
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
