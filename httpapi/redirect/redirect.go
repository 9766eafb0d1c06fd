// Package redirect answers the visitors of short links: with a redirect whose click is durable,
// with the QR image of a link, or with a page that says why there is none.
package redirect

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/uptrace/bunrouter"

	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/hashes"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/router"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// Config is what visits of short links work with.
type Config struct {
	Targets *cache.Redirects
	// Allowances are for links with a limit.
	Allowances *clicklimit.Limiter
	Clicks     *clicks.Recorder

	Pseudonyms *peer.Pseudonyms // of visitors
	Former     *peer.Pseudonyms // of visitors by the former key; nil: none
	Proxies    peer.Proxies
	// Country returns the code of the country of an address, empty if that is unknown; nil: clicks
	// carry none.
	Country func(netip.Addr) string

	Base    shortlink.Base
	Status  int           // of redirects
	Timeout time.Duration // of the question how often a link may still be used
	Now     func() time.Time
}

// Handler answers the visits of short links.
type Handler struct {
	cfg    Config
	agents agents
}

// New returns what answers visits.
func New(cfg Config) (*Handler, error) {
	known, err := newAgents()
	if err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg, agents: known}, nil
}

// Routes returns the routes of short links.
func (h *Handler) Routes() []router.Route {
	return []router.Route{
		router.Get("/:hash", h.redirect),
		router.Get("/:hash"+shortlink.QRPath, h.qrImage),
	}
}

// Options answers OPTIONS.
func Options(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// redirect sends a visitor on. A visit counts before it is answered: the answer waits until the
// click is durable.
func (h *Handler) redirect(w http.ResponseWriter, r bunrouter.Request) error {
	c := request.Of(w, r)
	target, err := h.target(c)
	if err != nil {
		return err
	}
	now := h.cfg.Now().UTC()
	if err := unavailable(target, now); err != nil {
		return err
	}
	if !headerSafe(target.LongURL) {
		return errors.New(
			"the destination of link " + target.URLID.String() + " cannot be sent in a header",
		)
	}
	click := h.click(r.Request, target, now)
	if err := h.allowed(c, target, r.Method == http.MethodGet && !click.Bot); err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if err := h.cfg.Clicks.Record(c.Context(), click); err != nil {
			return err
		}
	}
	header := w.Header()
	header["Location"] = []string{target.LongURL} // byte for byte: http.Redirect would rewrite it
	header["Cache-Control"] = []string{"private, no-store"}
	// Browsers take the policy over for the request that follows: the page with the link may not be
	// told in full.
	header["Referrer-Policy"] = []string{"strict-origin-when-cross-origin"}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(h.cfg.Status)
	return nil
}

// target looks up the link that a path names.
func (h *Handler) target(c *request.Context) (queries.Redirect, error) {
	hash := c.Param("hash")
	if !hashes.Valid(hash) {
		return queries.Redirect{}, errNoLink()
	}
	target, err := h.cfg.Targets.Find(c.Context(), hash)
	if errors.Is(err, queries.ErrNotFound) {
		return queries.Redirect{}, errNoLink()
	}
	return target, apierror.Unavailable(err)
}

func errNoLink() error {
	return &apierror.Error{Code: apierror.CodeURLNotFound, Details: "There is no such link"}
}

// unavailable says why a link that exists or existed sends nobody on.
func unavailable(target queries.Redirect, now time.Time) error {
	switch {
	case target.Deleted, !target.OwnerActive, target.OwnerExpired(now):
		return gone("This link is no longer available")
	case target.Expired(now):
		return gone("This link has expired")
	}
	return nil
}

// allowed refuses visitors of a link that has been used as often as it may be. A visit that counts
// takes its click.
func (h *Handler) allowed(c *request.Context, target queries.Redirect, counts bool) error {
	if target.MaxClicks == 0 {
		return nil
	}
	ask := h.cfg.Allowances.Left
	if counts {
		ask = h.cfg.Allowances.Take
	}
	ctx, cancel := context.WithTimeout(c.Context(), h.cfg.Timeout)
	defer cancel()
	allowed, err := ask(ctx, target.URLID.String(), target.MaxClicks, target.TotalClicks)
	if err != nil {
		return err
	}
	if !allowed {
		return gone("This link has been used as often as it may be")
	}
	return nil
}

func gone(details string) error {
	return &apierror.Error{
		Code: apierror.CodeURLNotFound, Details: details, Status: http.StatusGone,
	}
}

// headerSafe tells whether a text can be the value of a header. Commands let no other destinations
// through.
func headerSafe(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return false
		}
	}
	return true
}
