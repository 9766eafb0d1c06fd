// Package redirect serves the visits of short links: a redirect whose click is durable, the QR
// image of a link, or a page that says why the link cannot be followed. It MUST NOT import package
// v3.
package redirect

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/uptrace/bunrouter"

	"linkledger/commands/answered"
	"linkledger/commands/clicklimit"
	"linkledger/commands/clicks"
	"linkledger/commands/destination"
	"linkledger/commands/hashes"
	"linkledger/httpapi/agent"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/router"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// Parts finds links, and records and limits their clicks.
type Parts struct {
	Cache        *cache.Redirects
	Answered     *answered.Links // finds links that the read models lack
	Levels       Levels
	ClickLimiter *clicklimit.Limiter // for links with a limit
	Clicks       *clicks.Recorder    // it MUST run until the last visit is answered
}

// Complete reports whether no part is missing.
func (p *Parts) Complete() bool {
	return p.Cache != nil && p.Answered != nil && p.Levels.Links != nil &&
		p.Levels.Accounts != nil && p.Levels.Misplaced != nil && p.ClickLimiter != nil &&
		p.Clicks != nil
}

// Config configures a Handler. All fields except Former, Proxies, Country and Base are required.
type Config struct {
	Parts

	Pseudonyms *peer.Pseudonyms // of visitors
	Former     *peer.Pseudonyms // of visitors, under the former key; nil: none
	Proxies    peer.Proxies
	Agents     *agent.List
	// Country returns the country code of an address, or an empty string if it is unknown. If nil,
	// clicks carry no country.
	Country func(netip.Addr) string

	Base    shortlink.Base
	Status  int           // of redirects
	Timeout time.Duration // of a call of the click limiter
	Now     func() time.Time
}

// Handler serves the visits of short links. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	agents agents
	denied *confirmations
}

// New returns a handler with an empty cache of user agents.
func New(cfg Config) (*Handler, error) {
	known, err := newAgents(cfg.Agents)
	if err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg, agents: known, denied: &confirmations{
		cache: cfg.Cache, links: cfg.Answered, levels: cfg.Levels,
		of: make(map[string]*confirmation),
	}}, nil
}

// Routes returns the routes of short links.
func (h *Handler) Routes() []router.Route {
	return []router.Route{
		router.Get("/:hash", h.redirect),
		router.Get("/:hash"+shortlink.QRPath, h.qrImage),
	}
}

// Options returns a handler of OPTIONS that answers with allow in the header Allow.
func Options(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// redirect redirects a visitor. The response waits until the click is durable, so the click of an
// answered visit is not lost. The only exception is a click that neither the event store nor the
// spool can take. Package clicks counts and logs such clicks.
func (h *Handler) redirect(w http.ResponseWriter, r bunrouter.Request) error {
	c := request.Of(w, r)
	now := h.cfg.Now().UTC()
	link, hash, err := h.find(c, now)
	if err != nil {
		return err
	}
	click := h.click(r.Request, link, now)
	counts := r.Method == http.MethodGet && !click.Bot
	if link, err = h.checkLimit(c, hash, link, counts); err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if err := h.cfg.Clicks.Record(c.Context(), click); err != nil {
			return err
		}
	}
	header := w.Header()
	// http.Redirect would rewrite the URL, which is ASCII already.
	header["Location"] = []string{destination.Location(link.LongURL)}
	header["Cache-Control"] = []string{"private, no-store"}
	// Browsers apply the policy to the request that follows. The policy hides the path of the page
	// with the link from the destination.
	header["Referrer-Policy"] = []string{"strict-origin-when-cross-origin"}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(h.cfg.Status)
	return nil
}

// link returns the link that has a hash, if visitors may follow it. The read models may lack the
// latest changes, so link looks in the log before it denies a link.
func (h *Handler) link(
	c *request.Context, hash string, now time.Time,
) (queries.Redirect, error) {
	if !hashes.Valid(hash) {
		return queries.Redirect{}, errNoLink()
	}
	link, err := h.cfg.Cache.Find(c.Context(), hash)
	if err == nil && checkAvailable(link, now) == nil && !h.cfg.Levels.Misplaced() {
		return link, nil
	}
	link, err = h.denied.find(c.Context(), hash, hash, func(link queries.Redirect) bool {
		return checkAvailable(link, h.cfg.Now().UTC()) == nil
	})
	if errors.Is(err, queries.ErrNotFound) {
		return queries.Redirect{}, errNoLink()
	}
	if err != nil {
		return queries.Redirect{}, late(err)
	}
	return link, checkAvailable(link, now)
}

func errNoLink() error {
	return &apierror.Error{Code: apierror.CodeURLNotFound, Details: "There is no such link"}
}

// checkAvailable returns an error if a link is deleted or expired, or if its account is not in use.
func checkAvailable(link queries.Redirect, now time.Time) error {
	switch {
	case link.Deleted, !link.OwnerActive, link.OwnerExpired(now):
		return gone("This link is no longer available")
	case link.Expired(now):
		return gone("This link has expired")
	}
	return nil
}

// checkLimit returns an error if a link has reached its limit of clicks. If counts is true, an
// allowed visit takes one click of the limit. Before checkLimit refuses a visit, it looks the link
// up in the log, because the limit may have been raised. It returns the link as it found it last.
func (h *Handler) checkLimit(
	c *request.Context, hash string, link queries.Redirect, counts bool,
) (queries.Redirect, error) {
	allowed, err := h.withinLimit(c, link, counts)
	if err != nil || allowed {
		return link, err
	}
	// The limit may have been raised, and the read models may lack that change.
	former := link.MaxClicks
	key := strconv.FormatInt(former, 10) + "!" + hash // no hash has this character
	link, err = h.denied.find(c.Context(), key, hash, func(now queries.Redirect) bool {
		return now.MaxClicks != former && checkAvailable(now, h.cfg.Now().UTC()) == nil
	})
	if err == nil && link.MaxClicks != former {
		if err := checkAvailable(link, h.cfg.Now().UTC()); err != nil {
			return link, err
		}
		allowed, err = h.withinLimit(c, link, counts)
	}
	switch {
	case errors.Is(err, queries.ErrNotFound):
		return link, errNoLink()
	case err != nil:
		return link, late(err)
	case !allowed:
		return link, gone("This link has been used as often as it may be")
	}
	return link, nil
}

// withinLimit reports whether a link may be followed once more. If counts is true, an allowed visit
// takes one click of the limit.
func (h *Handler) withinLimit(
	c *request.Context, link queries.Redirect, counts bool,
) (bool, error) {
	if link.MaxClicks == 0 {
		return true, nil
	}
	check := h.cfg.ClickLimiter.Left
	if counts {
		check = h.cfg.ClickLimiter.Take
	}
	ctx, cancel := context.WithTimeout(c.Context(), h.cfg.Timeout)
	defer cancel()
	return check(ctx, link.URLID.String(), link.MaxClicks, link.TotalClicks)
}

func gone(details string) error {
	return &apierror.Error{
		Code: apierror.CodeURLNotFound, Details: details, Status: http.StatusGone,
	}
}
