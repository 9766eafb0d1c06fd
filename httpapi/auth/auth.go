// Package auth authenticates calls of the API and throttles clients that guess credentials.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// The headers that carry credentials in place of HTTP Basic.
const (
	HeaderUser = "X-Tinycc-User"
	HeaderKey  = "X-Tinycc-Key"
)

// credentials returns the user name and the API key of a request. HTTP Basic has precedence over
// the two headers. The user name of one is never combined with the key of the other.
func credentials(r *http.Request) (username, key string, ok bool) {
	if username, key, ok = r.BasicAuth(); ok {
		return username, key, true
	}
	username, key = r.Header.Get(HeaderUser), r.Header.Get(HeaderKey)
	return username, key, username != "" && key != ""
}

// Config of an Authenticator. All fields are required, but for Proxies.
type Config struct {
	Logins   *cache.Logins
	Sessions *session.Sessions
	// Refused is called for each call that is refused because of its credentials. reason is one of
	// a small set of constants, so it can label a metric.
	Refused func(reason string)
	// Used is called for each call that is accepted, with the key that was used.
	Used    func(account uuid.UUID, key string)
	Proxies peer.Proxies
	Now     func() time.Time
	Logger  *slog.Logger
}

// Authenticator identifies the account of a call. It is safe for concurrent use.
type Authenticator struct {
	cfg      Config
	throttle *peer.Throttle
	loginLog *loginLog
}

// New returns an authenticator that throttles no client yet.
func New(cfg Config) *Authenticator {
	return &Authenticator{cfg: cfg, throttle: peer.NewThrottle(), loginLog: newLoginLog()}
}

// Authenticate sets c.Account and c.Key by user name and API key, or by the session of a browser if
// the request has neither, or returns an error. The key is compared before the throttle is
// consulted, so other clients behind the same address cannot lock out a client with the correct
// key. The throttle limits only how often a failure states its reason.
func (a *Authenticator) Authenticate(c *request.Context) error {
	username, key, ok := credentials(c.Request)
	if !ok && a.cfg.Sessions.Has(c.Request) {
		return a.authenticateSession(c)
	}
	if !ok {
		a.cfg.Refused(loginWithoutCredentials)
		return &apierror.Error{
			Code: apierror.CodeInvalidKey,
			Details: "Send the user name and the API key by HTTP Basic authentication, " +
				"or both as X-Tinycc-User and X-Tinycc-Key",
		}
	}
	began := time.Now()
	hash, address := accounts.HashKey(key), a.cfg.Proxies.ClientAddress(c.Request)
	login, refused, err := a.identify(c.Context(), username, hash)
	if err != nil {
		return apierror.Unavailable(err)
	}
	if refused == nil {
		c.Account, c.Key = login.Account, login.key
		refused = a.checkUsable(login, address)
	}
	if refused == nil {
		a.cfg.Used(c.Account.ID, c.Key.ID)
		a.permitKey(c, hash, address)
		return bind(c)
	}
	select {
	case <-time.After(minFailureTime - time.Since(began)):
	case <-c.Context().Done():
	}
	return a.refuseLogin(c, username, refused)
}

// Resume sets c.Session as Sessions.Resume does, also of a person who is a member of no account and
// of an account that is not active, or returns an error.
func (a *Authenticator) Resume(c *request.Context) error {
	err := a.cfg.Sessions.Resume(c)
	if _, refused := apierror.Refusal(err); refused {
		a.cfg.Refused(loginBadSession)
	}
	return err
}

// authenticateSession is Authenticate by the session of a browser.
func (a *Authenticator) authenticateSession(c *request.Context) error {
	if err := a.Resume(c); err != nil {
		return err
	}
	if c.Account.ID == uuid.Nil {
		return &apierror.Error{
			Code: apierror.CodeAccessDenied, Details: "You are a member of no account",
		}
	}
	address := a.cfg.Proxies.ClientAddress(c.Request)
	if refused := a.checkUsable(login{c.Account, c.Key}, address); refused != nil {
		a.cfg.Refused(refused.reason)
		return &apierror.Error{Code: refused.code, Details: refused.details}
	}
	if c.Key.ID != "" {
		a.cfg.Used(c.Account.ID, c.Key.ID)
	}
	a.permitSession(c, address)
	return bind(c)
}

// bind sets c.Bound to what the key is bound to.
func bind(c *request.Context) (err error) {
	if tags := c.Key.Terms().Tags; tags != "" {
		c.Bound, err = access.Bound(tags)
	}
	return err
}

// minFailureTime is the least duration of a login that fails. The work takes less, so response
// times do not reveal which check failed.
const minFailureTime = 5 * time.Millisecond

// refusedLogin says why a login fails.
type refusedLogin struct {
	reason  string // one of the constants below
	code    apierror.Code
	details string // for the client
}

// The reasons of failed logins in log and metrics.
const (
	loginWithoutCredentials = "no_credentials"
	loginUnknownUser        = "unknown_user"
	loginWrongKey           = "wrong_key"
	loginInactive           = "inactive" // deactivated, expired or erased
	loginExpiredKey         = "expired_key"
	loginForeignNetwork     = "foreign_network" // a key that is bound to other networks
	loginBadSession         = "bad_session"     // none, an ended one, or a page of another origin
	loginNarrowed           = "narrowed"        // during a call: the key or role may do less
	// loginThrottled is an unknown user name or a wrong key whose response does not state the
	// reason.
	loginThrottled = "throttled"
)

// identify finds the account and compares the key. The cache can only accept a login. An unknown
// user name and a wrong key are both refused after the same query of the database, for two reasons:
// the cache may be stale, and equal work does not reveal which user names exist.
func (a *Authenticator) identify(
	ctx context.Context, username, hash string,
) (login, *refusedLogin, error) {
	remembered, _ := a.cfg.Logins.Remembered(username)
	if found, ok := keyOf(remembered, hash); ok {
		return found, nil, nil
	}
	stored, err := a.cfg.Logins.LookUp(ctx, username)
	unknown := errors.Is(err, queries.ErrNotFound)
	if err != nil && !unknown {
		return login{}, nil, err
	}
	found, ok := keyOf(stored, hash)
	switch {
	case ok:
		return found, nil, nil
	case unknown:
		return login{}, &refusedLogin{
			loginUnknownUser, apierror.CodeInvalidUsername,
			"There is no account with this user name",
		}, nil
	}
	return login{}, &refusedLogin{
		loginWrongKey, apierror.CodeInvalidKey, "The API key is not one of this account",
	}, nil
}

// login is an account and the key of a call.
type login struct {
	queries.Account
	key queries.Key
}

// keyOf returns the key with a hash. It compares all keys of the account, each in constant time.
func keyOf(of queries.Login, hash string) (found login, ok bool) {
	for _, key := range of.Keys {
		if accounts.SameKey(hash, key.Hash) {
			found, ok = login{of.Account, key}, true
		}
	}
	return found, ok
}

// checkUsable refuses accounts that are erased, deactivated or expired, and keys that have expired
// or are bound to other networks.
func (a *Authenticator) checkUsable(l login, address string) *refusedLogin {
	now, terms := a.cfg.Now(), l.key.Terms()
	switch {
	case l.Erased:
		return &refusedLogin{
			loginInactive, apierror.CodeAccessDenied, "The account has been erased",
		}
	case !l.Active:
		return &refusedLogin{loginInactive, apierror.CodeAccessDenied, "The account is not active"}
	case l.Expired(now):
		return &refusedLogin{loginInactive, apierror.CodeAccessDenied, "The account has expired"}
	case access.Over(terms.Expires, now):
		return &refusedLogin{loginExpiredKey, apierror.CodeAccessDenied, "The key has expired"}
	case len(terms.Networks) > 0 &&
		!access.AllowFrom(terms.Networks, address):
		return &refusedLogin{
			loginForeignNetwork, apierror.CodeAccessDenied,
			"The key may not be used from this address",
		}
	}
	return nil
}

// refuseLogin counts and logs a failed login, and returns its error. The throttle does not apply to
// the right key of an unusable account: its error always states the reason.
func (a *Authenticator) refuseLogin(
	c *request.Context, username string, refused *refusedLogin,
) error {
	now, client := a.cfg.Now(), a.cfg.Proxies.ClientAddress(c.Request)
	wrongCredentials := refused.code != apierror.CodeAccessDenied
	throttled := wrongCredentials && a.throttle.Exceeded(client, now)
	reason := refused.reason
	if throttled {
		reason = loginThrottled
	}
	a.cfg.Refused(reason)
	if entry, ok := a.loginLog.add(loginSource{clipName(username), client}, now); ok {
		a.cfg.Logger.WarnContext(c.Context(), "login refused",
			slog.String("reason", refused.reason), slog.Bool("throttled", throttled),
			slog.String("account", entry.account), slog.String("address", entry.address),
			slog.Int("suppressed", entry.suppressed), slog.Int("suppressed_others", entry.others),
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
