package signin

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/queries/accountlist"
)

// maxSignOut bounds the body of a sign-out that the issuer sends, in bytes.
const maxSignOut = 64 << 10

// oauthError is the body of an OAuth error response.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// signOut ends the sessions that the issuer has ended (OpenID Connect Back-Channel Logout 1.0). The
// standard has two answers: 200 for success, and 400 for every failure.
func (h *Handler) signOut(w http.ResponseWriter, r bunrouter.Request) error {
	c := request.Of(w, r)
	c.Header().Set("Cache-Control", "no-store")
	client := h.Proxies.ClientAddress(c.Request)
	// Wrong tokens are limited, because anybody could send many, and so make the service fetch the
	// issuer's keys all the time. An issuer rarely sends a wrong token.
	if h.signOuts.Full(client, h.Now()) {
		return errTooMany
	}
	err := h.endSessions(c)
	if err == nil {
		c.WriteHeader(http.StatusOK)
		return nil
	}
	answer := oauthError{"temporarily_unavailable", "The sessions have not ended: send it again"}
	level := slog.LevelError
	if errors.Is(err, openid.ErrInvalid) {
		h.signOuts.Exceeded(client, h.Now())
		answer = oauthError{"invalid_request", "The logout token is not valid, or was used before"}
		level = slog.LevelWarn
	}
	h.log(c, level, "sign-out of the issuer refused", err)
	return response.WriteJSON(c, http.StatusBadRequest, answer)
}

// endSessions ends the sessions that the token of a request names.
func (h *Handler) endSessions(c *request.Context) error {
	r := c.Request // reading the body to its end replaces c.Request
	r.Body = http.MaxBytesReader(c, r.Body, maxSignOut)
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", openid.ErrInvalid, err)
	}
	tokens := r.PostForm["logout_token"]
	if len(tokens) != 1 {
		return fmt.Errorf("%w: there must be exactly one logout_token", openid.ErrInvalid)
	}
	said, err := h.provider.SignOut(c.Context(), tokens[0])
	if err != nil {
		return err
	}
	ended := accountlist.SignOut{Token: said.ID, Expires: said.Expires, IssuerSID: said.Session}
	if said.Subject != "" {
		user, err := h.People.Find(c.Context(), said.Issuer, said.Subject)
		if err != nil {
			return err
		}
		if user != "" {
			if ended.User, err = uuid.Parse(user); err != nil {
				return err
			}
		}
	}
	fresh, err := h.Sessions.EndAtIssuer(c, ended)
	if err == nil && !fresh {
		return fmt.Errorf("%w: the token was used before", openid.ErrInvalid)
	}
	return err
}
