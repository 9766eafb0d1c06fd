package v3

import (
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// endpoint makes a route of what answers authenticated calls of the API: with a value whose JSON is
// the whole answer, or with an error. It refuses a moment: an answer about now, or a change of what
// is there now, would not be what was asked for.
func (a *API) endpoint(answer func(c *request.Context) (any, error)) bunrouter.HandlerFunc {
	return a.endpointAt(func(c *request.Context) (any, error) {
		if query, err := decode.Query(c); err == nil && query.Get("at") != "" {
			return nil, apierror.WrongInput(
				"at is for reading the account and URLs; this call is about now",
			)
		}
		return answer(c)
	})
}

// endpointAt is endpoint for what can answer as of a moment.
func (a *API) endpointAt(answer func(c *request.Context) (any, error)) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		if err := a.auth.Authenticate(c); err != nil {
			return err
		}
		if err := a.account.Meter(c); err != nil {
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
		return response.WriteJSON(c, http.StatusOK, body)
	}
}
