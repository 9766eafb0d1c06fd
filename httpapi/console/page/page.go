package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// Page is one page in the making. Templates read its exported fields and methods.
type Page struct {
	C *request.Context // the request for the page

	pages         *Pages
	name          string // of the template
	username, key string // of the calls in place of the session, while someone signs in
	next          string // id of the next request; empty: not asked for

	Title    string
	Session  *Session   // nil: nobody has signed in
	Calls    []Call     // that the page has made
	Commands []string   // of the command line that do what the page does; nil: calls do
	Refused  string     // why an action was refused
	Form     url.Values // what was typed, after a refusal
	Data     any        // of the template
	Watched  bool       // only the part is shown that changes while the page is watched
	Status   int
	Redirect string // where the browser goes in place of the page; empty: nowhere

	// Download is a text that the browser stores in place of the page, by the name DownloadName.
	// Empty: it shows the page.
	Download, DownloadName string
}

// Finish leads to a path after an action. If the action was refused, it fills the page with show
// and adds the reason. If that page is refused too, the reason alone is shown.
func (p *Page) Finish(err error, to string, show Fill) error {
	refused, ok := AsRefusal(err)
	if !ok {
		p.Redirect = to
		return err
	}
	err = show(p)
	if _, too := AsRefusal(err); too {
		return refused
	}
	p.Refuse(refused)
	return err
}

// NewRequest returns an id for the next request of the page, by which the activity tells how far
// its call is.
func (p *Page) NewRequest() string {
	if p.next == "" {
		p.next = uuid.NewString()
	}
	return p.next
}

// NameRequest gives the request, and with it its calls, the id that its form has.
func (p *Page) NameRequest(form url.Values) { p.C.Rename(form.Get("request")) }

// Refuse adds the reason of a refusal to the page.
func (p *Page) Refuse(r *RefusedError) { p.Refused, p.Status = r.Text, r.Status }

// Base returns scheme and host of the service, as its API is reached.
func (p *Page) Base() string { return p.pages.Base.Of(p.C.Request) }

// Path returns the path of the page.
func (p *Page) Path() string { return p.C.Request.URL.Path }

// Query returns the parameters of the page.
func (p *Page) Query() url.Values { return p.C.Request.URL.Query() }

// Chosen returns the parameters of the page with these names that have a value.
func (p *Page) Chosen(names ...string) url.Values {
	given, query := p.Query(), make(url.Values)
	for _, name := range names {
		if value := strings.TrimSpace(given.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// At returns the past moment that the page is asked for, as the API takes it. Browsers send it
// without a zone, which means UTC. It is empty if the page is asked for now.
func (p *Page) At() string {
	text := strings.TrimSpace(p.Query().Get("at"))
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	}
	return text
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 1 << 20

// ReadForm returns the fields of the form that was sent.
func (p *Page) ReadForm() (url.Values, error) {
	r := p.C.Request
	r.Body = http.MaxBytesReader(p.C, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, apierror.WrongInput("The form cannot be read")
	}
	return r.PostForm, nil
}

// ReadFile returns the fields of a form with a file, and the text of the file, which is empty if
// none was chosen.
func (p *Page) ReadFile(name string) (url.Values, string, error) {
	r := p.C.Request
	r.Body = http.MaxBytesReader(p.C, r.Body, maxForm)
	unreadable := apierror.WrongInput("The form cannot be read, or the file is too long")
	err := r.ParseMultipartForm(maxForm)
	if errors.Is(err, http.ErrNotMultipart) {
		return r.PostForm, "", nil
	}
	if err != nil {
		return nil, "", unreadable
	}
	file, _, err := r.FormFile(name)
	if errors.Is(err, http.ErrMissingFile) {
		return r.PostForm, "", nil
	}
	if err != nil {
		return nil, "", unreadable
	}
	text, err := io.ReadAll(file)
	_, rest := io.Copy(io.Discard, r.Body) // the end of the body begins the time of the request
	if err := errors.Join(err, rest, file.Close()); err != nil {
		return nil, "", unreadable
	}
	return r.PostForm, string(text), nil
}

// Can reports whether the session has a scope.
func (p *Page) Can(scope string) bool {
	return p.Session != nil && slices.Contains(p.Session.Scopes, scope)
}

// In reports whether the page lies below a path, for the navigation.
func (p *Page) In(path string) bool {
	return p.Path() == path || strings.HasPrefix(p.Path(), path+"/")
}

// secure sets the headers of all pages.
func (p *Page) secure() {
	header := p.C.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set(
		"Content-Security-Policy",
		"default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "+
			"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	)
}

// write answers with a page, or with a redirect or a download if the page has one.
func (p *Page) write() error {
	if p.Redirect != "" {
		p.secure()
		http.Redirect(p.C, p.C.Request, p.Redirect, http.StatusSeeOther)
		return nil
	}
	if p.Download != "" {
		p.secure()
		p.C.Header().Set("Content-Disposition", `attachment; filename="`+p.DownloadName+`"`)
		response.Write(p.C, p.Status, "application/x-ndjson", []byte(p.Download))
		return nil
	}
	var html bytes.Buffer
	if err := p.pages.templates[p.name].Execute(&html, p); err != nil {
		return fmt.Errorf("page %s of the console: %w", p.name, err)
	}
	p.secure()
	response.Write(p.C, p.Status, "text/html; charset=utf-8", html.Bytes())
	return nil
}
