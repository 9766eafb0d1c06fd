package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/uptrace/bunrouter"

	"linkledger/commands/hashes"
	"linkledger/queries"
)

// redirect sends a visitor on. A visit counts before it is answered: the answer waits until the click is durable.
func (s *server) redirect(w http.ResponseWriter, r bunrouter.Request) error {
	e := exchangeOf(w, r)
	target, err := s.target(e)
	if err != nil {
		return err
	}
	now := s.cfg.Now().UTC()
	if err := unavailable(target, now); err != nil {
		return err
	}
	if !headerSafe(target.LongURL) {
		return errors.New("the destination of link " + target.URLID.String() + " cannot be sent in a header")
	}
	click := s.click(r.Request, target, now)
	if err := s.allowed(e, target, r.Method == http.MethodGet && !click.Bot); err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if err := s.cfg.Clicks.Record(e.context(), click); err != nil {
			return err
		}
	}
	header := w.Header()
	header["Location"] = []string{target.LongURL} // byte for byte: http.Redirect would rewrite it
	header["Cache-Control"] = []string{"private, no-store"}
	// Browsers take the policy over for the request that follows: the page with the link may not be told in full.
	header["Referrer-Policy"] = []string{"strict-origin-when-cross-origin"}
	header["Content-Length"] = []string{"0"}
	w.WriteHeader(s.cfg.RedirectStatus)
	return nil
}

// target looks up the link that a path names.
func (s *server) target(e *exchange) (queries.Redirect, error) {
	hash := e.param("hash")
	if !hashes.Valid(hash) {
		return queries.Redirect{}, errNoLink()
	}
	target, err := s.cfg.Targets.Find(e.context(), hash)
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
func (s *server) allowed(e *exchange, target queries.Redirect, counts bool) error {
	if target.MaxClicks == 0 {
		return nil
	}
	ask := s.cfg.Allowances.Left
	if counts {
		ask = s.cfg.Allowances.Take
	}
	ctx, cancel := context.WithTimeout(e.context(), s.cfg.RequestTimeout)
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
