package auth

import (
	"context"
	"errors"

	"linkledger/commands/access"
	"linkledger/commands/permit"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/login"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
	"linkledger/queries"
)

// permitKey makes every append of events by a call check the key of the call again.
func (a *Authenticator) permitKey(c *request.Context, hash, address string) {
	began, username := known{c.Account, c.Key}, c.Account.Username
	a.permit(c, func(ctx context.Context) (*login.Refusal, error) {
		now, refused, err := a.identify(ctx, username, hash)
		if refused != nil {
			return endedLogin(refused.Reason, "The key of this call has been revoked"), nil
		}
		if err != nil {
			return nil, err
		}
		return a.checkStill(began, now, address), nil
	})
}

// permitSession makes every append of events by a call check the session of the call again.
func (a *Authenticator) permitSession(c *request.Context, address string) {
	began, sent := known{c.Account, c.Key}, c.Request
	a.permit(c, func(ctx context.Context) (*login.Refusal, error) {
		now, err := a.cfg.Sessions.Current(ctx, sent)
		if errors.Is(err, queries.ErrNotFound) {
			return endedLogin(login.BadSession, "The session of this call has ended"), nil
		}
		if err != nil {
			return nil, err
		}
		return a.checkStill(began, known{now.Account, session.KeyOf(now)}, address), nil
	})
}

// permit makes every append of events by a call check the caller again, as long as the call runs.
func (a *Authenticator) permit(
	c *request.Context, check func(context.Context) (*login.Refusal, error),
) {
	p := permit.New(func(ctx context.Context) (final bool, err error) {
		ended, err := check(ctx)
		if err != nil || ended == nil {
			return false, apierror.Unavailable(err)
		}
		a.cfg.Sessions.Guard.Count(ended.Reason)
		return true, ended.Err()
	})
	c.Request = c.Request.WithContext(permit.With(c.Context(), p))
}

// checkStill refuses a caller who may do less than when the call began.
func (a *Authenticator) checkStill(began, now known, address string) *login.Refusal {
	if now.ID != began.ID {
		return endedLogin(login.BadSession, "The session of this call is for another account now")
	}
	was, is := began.key.Terms(), now.key.Terms()
	if !access.Within(
		events.KeyTerms{Scopes: was.Scopes, Tags: was.Tags},
		events.KeyTerms{Scopes: is.Scopes, Tags: is.Tags},
	) {
		return endedLogin(login.Narrowed, "The caller may do less than when the call began")
	}
	return a.checkUsable(now, address)
}

// endedLogin returns the refusal of a caller who has lost rights since the call began.
func endedLogin(reason, details string) *login.Refusal {
	return &login.Refusal{Reason: reason, Code: apierror.CodeAccessDenied, Details: details}
}
