package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// Config of Pages. All fields are required.
type Config struct {
	API      http.Handler // serves calls of the API
	Sessions *session.Sessions
	Base     shortlink.Base
	Logger   *slog.Logger

	SignIn string // path of the page for signing in
	Start  string // path of the page to begin with
}

// Pages opens pages and writes them. It is safe for concurrent use.
type Pages struct {
	Config

	templates map[string]*template.Template // by the name of the page
}

// refusedPage is the name of the page that shows a refusal alone.
const refusedPage = "refused"

// New returns the pages with these names, whose templates are NAME.html beside layout.html, and one
// with the name refused. It fails if a template is wrong.
func New(
	cfg Config, files fs.FS, more template.FuncMap, names ...string,
) (*Pages, error) {
	pages := &Pages{Config: cfg, templates: make(map[string]*template.Template)}
	for _, name := range append(names, refusedPage) {
		parsed, err := template.New("layout.html").Funcs(functions).Funcs(more).
			ParseFS(files, "layout.html", name+".html")
		if err != nil {
			return nil, fmt.Errorf("page %s of the console: %w", name, err)
		}
		pages.templates[name] = parsed
	}
	return pages, nil
}

// Fill makes a page.
type Fill func(*Page) error

// SignedIn returns the handler of a page for those who have signed in.
func (s *Pages) SignedIn(name string, fill Fill) bunrouter.HandlerFunc {
	return s.Open(name, func(p *Page) error {
		if err := s.Sessions.CheckOrigin(p.C.Request); err != nil {
			return err
		}
		if err := p.readSession(); err != nil {
			return err
		}
		return fill(p)
	})
}

// Open returns the handler of a page for everybody.
func (s *Pages) Open(name string, fill Fill) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		p := &Page{C: request.Of(w, r), pages: s, Status: http.StatusOK}
		err := fill(p)
		refused, ok := AsRefusal(err)
		switch {
		case ok && refused.Code == apierror.CodeInvalidKey:
			back := s.Start // an action is not repeated after a sign-in
			if p.C.Request.Method == http.MethodGet {
				back = openid.LocalPath(p.C.Request.URL.RequestURI())
			}
			p.Redirect = s.SignIn + "?return=" + url.QueryEscape(back)
		case ok:
			return s.refuse(p, refused)
		case err != nil:
			return err
		}
		return p.write(name)
	}
}

// refuse answers with a refusal alone: as JSON if the client prefers it, else as a page.
func (s *Pages) refuse(p *Page, r *RefusedError) error {
	f := apierror.Failure{
		Code: cmp.Or(r.Code, apierror.CodeUnknown), Details: r.Text, Status: r.Status,
	}
	p.C.Header().Set("Vary", "Accept")
	if p.C.PrefersJSON() {
		response.WriteFailure(p.C, f)
		return nil
	}
	if f.Status >= http.StatusInternalServerError {
		p.Data = p.C.ID // with which an operator finds the cause in the log
	}
	if f.Status == http.StatusServiceUnavailable {
		p.C.Header().Set("Retry-After", response.RetryAfter(f))
	}
	p.Title, p.Redirect = "This did not work", ""
	p.Refuse(r)
	return p.write(refusedPage)
}

// WriteFailure writes a failure as a refusal is written.
func (s *Pages) WriteFailure(c *request.Context, f apierror.Failure) {
	if err := s.refuse(&Page{C: c, pages: s}, refusalOf(f)); err != nil {
		response.WriteFailure(c, f)
	}
}

// refusalOf returns a failure as a refusal.
func refusalOf(f apierror.Failure) *RefusedError {
	return &RefusedError{Status: f.Status, Code: f.Code, Text: cmp.Or(f.Details, f.Code.Message())}
}
