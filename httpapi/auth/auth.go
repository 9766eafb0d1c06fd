// Package auth authenticates calls of the API.
package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/login"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/cache"
	"linkledger/typed"
)

// The headers that carry credentials instead of HTTP Basic.
const (
	HeaderUser = "X-Tinycc-User"
	HeaderKey  = "X-Tinycc-Key"
)

// credentials returns the user name and the API key of a request. Both come from HTTP Basic if the
// request has it, and else from HeaderUser and HeaderKey. It returns false if the request has
// neither HTTP Basic nor both headers. Characters that pasting adds around a user name or a key are
// removed.
func credentials(r *http.Request) (username, key string, ok bool) {
	if username, key, ok = r.BasicAuth(); ok {
		return typed.Trim(username), typed.Trim(key), true
	}
	username, key = typed.Trim(r.Header.Get(HeaderUser)), typed.Trim(r.Header.Get(HeaderKey))
	return username, key, username != "" && key != ""
}

// Config of an Authenticator. All fields are required.
type Config struct {
	Logins   *cache.Logins
	Sessions *session.Sessions // whose Guard refuses logins
	// Used is called for each call that is accepted, with the key that was used.
	Used func(account uuid.UUID, key string)
}

// Authenticator identifies the account of a call. It is safe for concurrent use.
type Authenticator struct{ cfg Config }

// New returns an authenticator.
func New(cfg Config) *Authenticator { return &Authenticator{cfg: cfg} }

// Authenticate sets c.Account and c.Key by user name and API key. If the request lacks them, it
// uses the session of the browser. If the login is refused, it returns an error. Failed logins are
// throttled by address, but only after the key was compared. So other clients behind the same
// address cannot lock out a client with the correct key. The throttle limits only how often a
// failure states its reason.
func (a *Authenticator) Authenticate(c *request.Context) error {
	username, key, ok := credentials(c.Request)
	if !ok && a.cfg.Sessions.Has(c.Request) {
		return a.authenticateSession(c)
	}
	if !ok {
		a.cfg.Sessions.Guard.Count(login.WithoutCredentials)
		return &apierror.Error{
			Code: apierror.CodeInvalidKey,
			Details: "Send the user name and the API key by HTTP Basic authentication, " +
				"or both as X-Tinycc-User and X-Tinycc-Key",
		}
	}
	began := time.Now()
	hash, address := access.HashKey(key), a.cfg.Sessions.Guard.Address(c)
	found, refused, err := a.identify(c.Context(), username, hash)
	if err != nil {
		return apierror.Unavailable(err)
	}
	if refused == nil {
		c.Account, c.Key = found.Account, found.key
		refused = a.checkUsable(found, address)
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
	return a.cfg.Sessions.Guard.Refuse(c, username, refused)
}

// withoutAccount refuses a call of a session without an account, and says what to do.
func withoutAccount(user uuid.UUID) error {
	details := "The session has no account"
	if user != uuid.Nil {
		details += ". Move it to one of yours. If you are a member of no account, ask an owner " +
			"to add you by your id " + user.String()
	}
	return &apierror.Error{Code: apierror.CodeAccessDenied, Details: details}
}

// authenticateSession is Authenticate by the session of a browser.
func (a *Authenticator) authenticateSession(c *request.Context) error {
	if err := a.cfg.Sessions.Resume(c); err != nil {
		return err
	}
	if c.Account.ID == uuid.Nil {
		return withoutAccount(c.Session.User)
	}
	guard := a.cfg.Sessions.Guard
	if refused := guard.CheckAccount(c.Account); refused != nil {
		return guard.Refuse(c, c.Account.Username, refused)
	}
	if c.Key.ID != "" {
		a.cfg.Used(c.Account.ID, c.Key.ID)
	}
	a.permitSession(c, guard.Address(c))
	return bind(c)
}

// bind sets c.Bound to the tags that the key is bound to.
func bind(c *request.Context) (err error) {
	if tags := c.Key.Terms().Tags; tags != "" {
		c.Bound, err = access.Bound(tags)
	}
	return err
}

// minFailureTime is the least duration of a login that fails. The checks take less, so response
// times do not reveal which check failed.
const minFailureTime = 5 * time.Millisecond

// identify finds the account and compares the key. A cached account can accept a login, but not
// refuse one. An unknown user name and a wrong key are both refused after the same query of the
// database. There are two reasons: the cache may be stale, and equal work does not reveal which
// user names exist.
func (a *Authenticator) identify(
	ctx context.Context, username, hash string,
) (known, *login.Refusal, error) {
	remembered, _ := a.cfg.Logins.Remembered(username)
	if found, ok := keyOf(remembered, hash); ok {
		return found, nil, nil
	}
	stored, err := a.cfg.Logins.LookUp(ctx, username)
	unknown := errors.Is(err, queries.ErrNotFound)
	if err != nil && !unknown {
		return known{}, nil, err
	}
	found, ok := keyOf(stored, hash)
	switch {
	case ok:
		return found, nil, nil
	case unknown:
		return known{}, &login.Refusal{
			Reason: login.UnknownUser, Code: apierror.CodeInvalidUsername,
			Details: "There is no account with this user name", Guess: true,
		}, nil
	}
	return known{}, &login.Refusal{
		Reason: login.WrongKey, Code: apierror.CodeInvalidKey,
		Details: "The API key is not one of this account", Guess: true,
	}, nil
}

// known is an account and the key of a call.
type known struct {
	accountlist.Account
	key accountlist.Key
}

// keyOf returns the key of an account that has a hash. It compares all keys, each in constant time.
func keyOf(of accountlist.Login, hash string) (found known, ok bool) {
	for _, key := range of.Keys {
		if access.SameKey(hash, key.Hash) {
			found, ok = known{of.Account, key}, true
		}
	}
	return found, ok
}

// checkUsable refuses an account that may not be used. It also refuses a key that has expired, or
// that may not be used from address.
func (a *Authenticator) checkUsable(of known, address string) *login.Refusal {
	guard := a.cfg.Sessions.Guard
	return cmp.Or(guard.CheckAccount(of.Account), guard.CheckKey(of.key, address))
}
