package auth

import (
	"context"
	"errors"

	"linkledger/commands/access"
	"linkledger/commands/permit"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
	"linkledger/queries"
)

// permitKey has the appends of a call check the key of the call again.
func (a *Authenticator) permitKey(c *request.Context, hash, address string) {
	began, username := login{c.Account, c.Key}, c.Account.Username
	a.permit(c, func(ctx context.Context) (*refusedLogin, error) {
		now, refused, err := a.identify(ctx, username, hash)
		if refused != nil {
			return endedLogin(refused.reason, "The key of this call has been revoked"), nil
		}
		if err != nil {
			return nil, err
		}
		return a.checkStill(began, now, address), nil
	})
}

// permitSession has the appends of a call check the session of the call again.
func (a *Authenticator) permitSession(c *request.Context, address string) {
	began, sent := login{c.Account, c.Key}, c.Request
	a.permit(c, func(ctx context.Context) (*refusedLogin, error) {
		now, err := a.cfg.Sessions.Current(ctx, sent)
		if errors.Is(err, queries.ErrNotFound) {
			return endedLogin(loginBadSession, "The session of this call has ended"), nil
		}
		if err != nil {
			return nil, err
		}
		return a.checkStill(began, login{now.Account, session.KeyOf(now)}, address), nil
	})
}

// permit has the appends of a call check its caller again, as long as it runs.
func (a *Authenticator) permit(
	c *request.Context, check func(context.Context) (*refusedLogin, error),
) {
	p := permit.New(func(ctx context.Context) (final bool, err error) {
		ended, err := check(ctx)
		if err != nil || ended == nil {
			return false, apierror.Unavailable(err)
		}
		a.cfg.Refused(ended.reason)
		return true, &apierror.Error{Code: apierror.CodeAccessDenied, Details: ended.details}
	})
	c.Request = c.Request.WithContext(permit.With(c.Context(), p))
}

// checkStill refuses a caller who may do less than when the call began.
func (a *Authenticator) checkStill(began, now login, address string) *refusedLogin {
	if now.ID != began.ID {
		return endedLogin(loginBadSession, "The session of this call is for another account now")
	}
	was, is := began.key.Terms(), now.key.Terms()
	if !access.Within(
		events.KeyTerms{Scopes: was.Scopes, Tags: was.Tags},
		events.KeyTerms{Scopes: is.Scopes, Tags: is.Tags},
	) {
		return endedLogin(loginNarrowed, "The caller may do less than when the call began")
	}
	return a.checkUsable(now, address)
}

// endedLogin returns the refusal of a caller who has lost the rights by which a call began.
func endedLogin(reason, details string) *refusedLogin {
	return &refusedLogin{reason, apierror.CodeAccessDenied, details}
}
