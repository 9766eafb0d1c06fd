package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/uptrace/bunrouter"

	"linkledger/commands"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// redirectConfig is what visits of short links work with.
type redirectConfig struct {
	Targets *cache.Redirects
	// Allowances are for links with a limit.
	Allowances *commands.Allowances
	Clicks     *commands.Clicks

	Pseudonyms *pseudonyms // of visitors
	Former     *pseudonyms // of visitors by the former key; nil: none
	Proxies    proxies
	// Country returns the code of the country of an address, empty if that is unknown; nil: clicks carry none.
	Country func(netip.Addr) string

	Base    shortBase
	Status  int           // of redirects
	Timeout time.Duration // of the question how often a link may still be used
	Now     func() time.Time
}

// visits answers the visits of short links.
type visits struct {
	cfg    redirectConfig
	agents agents
}

// newVisits returns what answers visits.
func newVisits(cfg redirectConfig) (*visits, error) {
	known, err := newAgents()
	if err != nil {
		return nil, err
	}
	return &visits{cfg: cfg, agents: known}, nil
}

// shortRoutes returns the routes of short links.
func (v *visits) shortRoutes() []route {
	return []route{
		{http.MethodGet, "/:hash", v.redirect},
		{http.MethodGet, "/:hash/qr.png", v.qrImage},
	}
}

// shortOptions answers OPTIONS.
func shortOptions(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// redirect sends a visitor on. A visit counts before it is answered: the answer waits until the click is durable.
func (v *visits) redirect(w http.ResponseWriter, r bunrouter.Request) error {
	c := exchangeOf(w, r)
	target, err := v.target(c)
	if err != nil {
		return err
	}
	now := v.cfg.Now().UTC()
	if err := unavailable(target, now); err != nil {
		return err
	}
	if !headerSafe(target.LongURL) {
		return errors.New("the destination of link " + target.URLID.String() + " cannot be sent in a header")
	}
	click := v.click(r.Request, target, now)
	if err := v.allowed(c, target, r.Method == http.MethodGet && !click.Bot); err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if err := v.cfg.Clicks.Record(c.context(), click); err != nil {
			return err
		}
	}
	header := w.Header()
	header["Location"] = []string{target.LongURL} // byte for byte: http.Redirect would rewrite it
	header["Cache-Control"] = []string{"private, no-store"}
	// Browsers take the policy over for the request that follows: the page with the link may not be told in full.
	header["Referrer-Policy"] = []string{"strict-origin-when-cross-origin"}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(v.cfg.Status)
	return nil
}

// target looks up the link that a path names.
func (v *visits) target(c *exchange) (queries.Redirect, error) {
	hash := c.param("hash")
	if !commands.ValidHash(hash) {
		return queries.Redirect{}, errNoLink()
	}
	target, err := v.cfg.Targets.Find(c.context(), hash)
	if errors.Is(err, queries.ErrNotFound) {
		return queries.Redirect{}, errNoLink()
	}
	return target, answered(err)
}

func errNoLink() error { return &apiError{code: codeURLNotFound, details: "There is no such link"} }

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

// allowed refuses visitors of a link that has been used as often as it may be. A visit that counts takes its click.
func (v *visits) allowed(c *exchange, target queries.Redirect, counts bool) error {
	if target.MaxClicks == 0 {
		return nil
	}
	ask := v.cfg.Allowances.Left
	if counts {
		ask = v.cfg.Allowances.Take
	}
	ctx, cancel := context.WithTimeout(c.context(), v.cfg.Timeout)
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
	return &apiError{code: codeURLNotFound, details: details, status: http.StatusGone}
}

// headerSafe tells whether a text can be the value of a header. Commands let no other destinations through.
func headerSafe(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return false
		}
	}
	return true
}
