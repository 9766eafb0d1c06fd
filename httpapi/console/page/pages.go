package page

import (
	"cmp"
	"context"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/forms"
	"linkledger/httpapi/console/page/live"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// Config configures Pages. All fields except Resume, NoAccount and Shown are required.
type Config struct {
	API      http.Handler // serves calls of the API
	Sessions *session.Sessions
	Base     shortlink.Base
	Logger   *slog.Logger

	SignIn string // path of the page for signing in
	Start  string // path of the page to begin with
	// Resume sets the session of a page, or refuses the page. If nil, the pages ask the API for the
	// session.
	Resume func(*Page) error
	// NoAccount is the path of the page that helps a person without an account. Every other page
	// redirects such a person there. If empty, no page does.
	NoAccount string

	// Shown waits for a short time until the page with a path shows the writes up to a commit
	// position. It reports whether it does. If Shown is nil, pages always count as up to date.
	Shown func(ctx context.Context, path string, position uint64) bool
}

// Pages opens pages and writes them. It is safe for concurrent use.
type Pages struct {
	Config

	templates map[string]*template.Template // by the name of the page
	answers   forms.Answers
	watchers  *live.Watchers
}

// New returns the pages of parts, and the page of a refusal. It fails if a template is wrong.
func New(cfg Config, parts ...assets.Part) (*Pages, error) {
	templates, err := assets.Parse(parts...)
	if err != nil {
		return nil, err
	}
	pages := &Pages{
		Config: cfg, templates: templates,
		answers: forms.Answers{Sessions: cfg.Sessions}, watchers: live.New(cfg.Logger),
	}
	if pages.Resume == nil {
		pages.Resume = (*Page).readSession
	}
	return pages, nil
}

// Templates returns the templates by the name of the page. Once a page was written, they MUST NOT
// be changed.
func (s *Pages) Templates() map[string]*template.Template { return s.templates }

// page returns a page in the making. name is the name of its template.
func (s *Pages) page(c *request.Context, name string) *Page {
	return &Page{
		Caller: calls.New(c, s.API), pages: s, name: name, Status: http.StatusOK,
	}
}

// Fill makes a page.
type Fill func(*Page) error

// SignedIn returns the handler of a page that needs a sign-in.
func (s *Pages) SignedIn(name string, fill Fill) bunrouter.HandlerFunc {
	return s.Open(name, func(p *Page) error {
		if err := s.Sessions.CheckOrigin(p.C.Request); err != nil {
			return err
		}
		if err := s.Resume(p); err != nil {
			return err
		}
		if p.Session.Account == nil && s.NoAccount != "" && p.Path() != s.NoAccount {
			p.Redirect = s.NoAccount
			return nil
		}
		if err := p.Recall(); err != nil {
			return err
		}
		return fill(p)
	})
}

// Open returns the handler of a page that needs no sign-in.
func (s *Pages) Open(name string, fill Fill) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		p := s.page(c, name)
		if s.isWatch(c.Request, name) {
			return s.refuseWatch(p, s.watch(p, fill))
		}
		if p.readLate(); p.Redirect != "" {
			return p.write()
		}
		err := fill(p)
		refused, ok := calls.AsRefusal(err)
		switch {
		case ok && refused.Code == apierror.CodeInvalidKey:
			p.Redirect = s.signInFrom(
				p.C.Request.URL.RequestURI(), s.Sessions.Has(p.C.Request),
			)
		case ok:
			if a := p.answer; a != nil && a.Status != 0 { // the page of the form is refused too
				refused = &calls.RefusedError{Status: a.Status, Text: a.Why}
			}
			return s.refuse(p, refused)
		case err != nil:
			return err
		}
		return p.write()
	}
}

// refuseWatch answers a request to watch a page that was refused before its stream has begun. It
// does not redirect to the sign-in, because no person reads the answer.
func (s *Pages) refuseWatch(p *Page, err error) error {
	refused, ok := calls.AsRefusal(err)
	if !ok {
		return err
	}
	if refused.Code == apierror.CodeInvalidKey {
		// Browsers ask for no password, because they do not know the scheme.
		p.C.Header().Set("WWW-Authenticate", `Cookie realm="linkledger"`)
		refused = &calls.RefusedError{
			Status: http.StatusUnauthorized, Code: apierror.CodeAccessDenied, Text: refused.Text,
		}
	}
	return s.refuse(p, refused)
}

// refuse answers with only a refusal: as JSON if the client prefers it, else as a page.
func (s *Pages) refuse(p *Page, r *calls.RefusedError) error {
	f := apierror.Failure{
		Code: cmp.Or(r.Code, apierror.CodeUnknown), Details: r.Text, Status: r.Status,
		RetryAfter: r.RetryAfter,
	}
	p.C.Header().Set("Vary", "Accept")
	if p.C.PrefersJSON() {
		response.WriteFailure(p.C, f)
		return nil
	}
	s.alone(p, r)
	return p.write()
}

// alone makes the page that shows only a refusal.
func (s *Pages) alone(p *Page, r *calls.RefusedError) {
	response.SetRetryAfter(p.C.Header(), apierror.Failure{
		Code: cmp.Or(r.Code, apierror.CodeUnknown), Status: r.Status, RetryAfter: r.RetryAfter,
	})
	p.Title, p.Redirect, p.Download, p.name = titleOf(r), "", "", assets.Refused
	p.Refused, p.Notice, p.Data = "", "", s.waysOn(p, r.Status)
	p.Refuse(r)
}

// WriteFailure answers a request with a failure, in the form of a refusal: as JSON or as a page.
func (s *Pages) WriteFailure(c *request.Context, f apierror.Failure) {
	p := s.page(c, "")
	s.identify(p, f.Status)
	if err := s.refuse(p, calls.RefusalOf(f)); err != nil {
		response.WriteFailure(c, f)
	}
}
