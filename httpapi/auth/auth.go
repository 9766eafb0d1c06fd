// Package auth finds out which account calls the API, and slows down those who guess.
package auth

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"linkledger/commands/accounts"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// The headers that carry credentials in place of HTTP Basic.
const (
	HeaderUser = "X-Tinycc-User"
	HeaderKey  = "X-Tinycc-Key"
)

// credentials returns the one pair of user name and API key that counts of a request: that of HTTP
// Basic, or without it that of the two headers. Parts of the one are never combined with parts of
// the other.
func credentials(r *http.Request) (username, key string, ok bool) {
	if username, key, ok = r.BasicAuth(); ok {
		return username, key, true
	}
	username, key = r.Header.Get(HeaderUser), r.Header.Get(HeaderKey)
	return username, key, username != "" && key != ""
}

// Config is what an authenticator works with.
type Config struct {
	Accounts *cache.Accounts
	// Refused learns of each call that was refused for its credentials, and of the reason, one of a
	// few words.
	Refused func(reason string)
	Proxies peer.Proxies
	Now     func() time.Time
	Logger  *slog.Logger
}

// Authenticator finds out who calls. It is safe for concurrent use.
type Authenticator struct {
	cfg      Config
	logins   *logins
	loginLog *loginLog
}

// New returns an authenticator that has seen no bad logins.
func New(cfg Config) *Authenticator {
	return &Authenticator{cfg: cfg, logins: newLogins(), loginLog: newLoginLog()}
}

// Authenticate finds out who asks, by user name and API key. The key is compared first and a
// correct one is never refused for the sake of others; of failures an address learns the reason
// only so often.
func (a *Authenticator) Authenticate(c *request.Context) error {
	username, key, ok := credentials(c.Request)
	if !ok {
		a.cfg.Refused(loginWithoutCredentials)
		return &apierror.Error{Code: apierror.CodeInvalidKey, Details: "Send the user name and " +
			"the API key by HTTP Basic authentication, " +
			"or both as X-Tinycc-User and X-Tinycc-Key"}
	}
	began := time.Now()
	account, refused, err := a.identify(c, username, key)
	if err != nil {
		return apierror.Unavailable(err)
	}
	if refused == nil {
		c.Account = account
		refused = a.usable(account)
	}
	if refused == nil {
		return nil
	}
	select {
	case <-time.After(failedLoginTime - time.Since(began)):
	case <-c.Context().Done():
	}
	return a.refuseLogin(c, username, refused)
}

// failedLoginTime is how long a login takes to fail at least. The work takes less, so what it
// differs by does not show.
const failedLoginTime = 5 * time.Millisecond

// refusedLogin is why a login fails.
type refusedLogin struct {
	reason  string // one of those below
	code    apierror.Code
	details string // for the client
}

// The reasons for which logins fail, in log and metrics.
const (
	loginWithoutCredentials = "no_credentials"
	loginUnknownUser        = "unknown_user"
	loginWrongKey           = "wrong_key"
	loginInactive           = "inactive" // deactivated, expired or erased
	// one of the two above that was answered without the reason.
	loginThrottled = "throttled"
)

// identify finds the account and compares the key. What is in memory lets in and refuses nobody: an
// unknown user name and a wrong key are refused after the same question to the database.
func (a *Authenticator) identify(
	c *request.Context, username, key string,
) (queries.Account, *refusedLogin, error) {
	hash := accounts.HashKey(key)
	account, _ := a.cfg.Accounts.Remembered(username)
	if accounts.SameKey(hash, account.KeyHash) {
		return account, nil, nil
	}
	account, err := a.cfg.Accounts.LookUp(c.Context(), username)
	unknown := errors.Is(err, queries.ErrNotFound)
	if err != nil && !unknown {
		return queries.Account{}, nil, err
	}
	switch {
	case accounts.SameKey(hash, account.KeyHash):
		return account, nil, nil
	case unknown:
		return account, &refusedLogin{
			loginUnknownUser, apierror.CodeInvalidUsername,
			"There is no account with this user name",
		}, nil
	}
	return account, &refusedLogin{
		loginWrongKey, apierror.CodeInvalidKey, "The API key is not the one of this account",
	}, nil
}

// usable refuses accounts that are no longer in use.
func (a *Authenticator) usable(account queries.Account) *refusedLogin {
	switch {
	case account.Erased:
		return &refusedLogin{
			loginInactive, apierror.CodeAccessDenied, "The account has been erased",
		}
	case !account.Active:
		return &refusedLogin{loginInactive, apierror.CodeAccessDenied, "The account is not active"}
	case account.Expired(a.cfg.Now()):
		return &refusedLogin{loginInactive, apierror.CodeAccessDenied, "The account has expired"}
	}
	return nil
}

// refuseLogin counts and logs a login that fails, and returns its error. One with the right key is
// always told why.
func (a *Authenticator) refuseLogin(
	c *request.Context, username string, refused *refusedLogin,
) error {
	now, client := a.cfg.Now(), a.cfg.Proxies.ClientAddress(c.Request)
	throttled := refused.code != apierror.CodeAccessDenied && a.logins.failed(network(client), now)
	reason := refused.reason
	if throttled {
		reason = loginThrottled
	}
	a.cfg.Refused(reason)
	if line, ok := a.loginLog.next(loginOf{clipName(username), client}, now); ok {
		a.cfg.Logger.WarnContext(c.Context(), "login refused", slog.String(
			"reason", refused.reason,
		),
			slog.Bool("throttled", throttled), slog.String("account", line.account),
			slog.String("address", line.address),
			slog.Int("suppressed", line.suppressed), slog.Int("suppressed_others", line.others),
			slog.String("request", c.ID))
	}
	if throttled {
		return &apierror.Error{
			Code:    apierror.CodeCallLimit,
			Details: "There were too many bad logins from this address, wait a second",
		}
	}
	return &apierror.Error{Code: refused.code, Details: refused.details}
}
