package httpapi

import (
	"net/http"

	"github.com/uptrace/bunrouter"
)

// endpoint makes a route of what answers authenticated calls of the API: with a value whose JSON is the whole answer, or
// with an error. It refuses a moment: an answer about now, or a change of what is there now, would not be what was asked for.
func (a *API) endpoint(answer func(c *exchange) (any, error)) bunrouter.HandlerFunc {
	return a.endpointAt(func(c *exchange) (any, error) {
		if query, err := parameters(c); err == nil && query.Get("at") != "" {
			return nil, wrongInput("at is for reading the account and URLs; this call is about now")
		}
		return answer(c)
	})
}

// endpointAt is endpoint for what can answer as of a moment.
func (a *API) endpointAt(answer func(c *exchange) (any, error)) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := exchangeOf(w, r)
		if err := a.auth.authenticate(c); err != nil {
			return err
		}
		if err := a.account.meter(c); err != nil {
			return err
		}
		if err := a.domains.checkDomain(c); err != nil {
			return err
		}
		body, err := answer(c)
		if err != nil {
			return err
		}
		c.Header().Set("Cache-Control", "no-store")
		return writeJSON(c, http.StatusOK, body)
	}
}
