package v3

import (
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/session"
)

// endpoint returns the HTTP handler of an endpoint. It calls handle if the caller is authenticated
// and has the scope. handle returns the response, which is encoded as JSON, or an error. endpoint
// refuses calls with the parameter at, because handle reads or changes only the present.
func (a *API) endpoint(
	scope access.Scopes, handle func(c *request.Context) (any, error),
) bunrouter.HandlerFunc {
	return a.endpointAt(scope, func(c *request.Context) (any, error) {
		if query, err := decode.Query(c); err == nil && query.Get("at") != "" {
			return nil, apierror.WrongInput(
				"at is for reading the account and URLs; this call is about now",
			)
		}
		return handle(c)
	})
}

// unbound is endpoint for calls that concern more than the links with certain tags. It refuses keys
// that are bound to tags.
func (a *API) unbound(
	scope access.Scopes, handle func(c *request.Context) (any, error),
) bunrouter.HandlerFunc {
	return a.endpoint(scope, func(c *request.Context) (any, error) {
		if c.Bound != nil {
			return nil, apierror.ErrBound
		}
		return handle(c)
	})
}

// reading returns the handler of a POST that only reads. The call ends when its client disconnects,
// as the call of a GET does.
func reading(handle bunrouter.HandlerFunc) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		request.Of(w, r).EndWithClient()
		return handle(w, r)
	}
}

// endpointAt is endpoint for handlers that read the parameter at.
func (a *API) endpointAt(
	scope access.Scopes, handle func(c *request.Context) (any, error),
) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		if err := a.waiter.CheckPlace(); err != nil {
			return err
		}
		if err := a.auth.Authenticate(c); err != nil {
			return err
		}
		if err := a.account.Meter(c); err != nil {
			return err
		}
		if err := apierror.Need(c.Scopes(), scope); err != nil {
			return err
		}
		if err := a.domains.checkDomain(c); err != nil {
			return err
		}
		if c.Request.Method == http.MethodGet {
			a.waiter.SayBehind(c)
		}
		return answer(c, handle)
	}
}

// from returns the handler of a call that reads the projection besides the projections that every
// call reads. The call fails while the read model of the projection has events that the log
// lacks. The response has a header if the read model is behind.
func (a *API) from(
	projection string, handle func(c *request.Context) (any, error),
) func(c *request.Context) (any, error) {
	return func(c *request.Context) (any, error) {
		if err := a.waiter.CheckPlace(projection); err != nil {
			return nil, err
		}
		a.waiter.SayBehind(c, projection)
		return handle(c)
	}
}

// ofSession returns the HTTP handler of an endpoint about the caller's own browser session. The
// person of the session need not be a member of an account. resume finds the session. Such calls
// are not metered.
func (a *API) ofSession(
	resume func(*session.Sessions, *request.Context) error,
	handle func(c *request.Context) (any, error),
) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		if err := a.waiter.CheckPlace(); err != nil {
			return err
		}
		if err := resume(a.sessions.Sessions, c); err != nil {
			return err
		}
		return answer(c, handle)
	}
}

func answer(c *request.Context, handle func(c *request.Context) (any, error)) error {
	body, err := handle(c)
	if err != nil {
		return err
	}
	c.Header().Set("Cache-Control", "no-store")
	return response.WriteJSON(c, http.StatusOK, body)
}
