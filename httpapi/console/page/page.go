package page

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/forms"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/response"
)

// Page is one page in the making. Templates read its exported fields and methods.
type Page struct {
	calls.Caller // Named is also the name of the answer that an action makes

	pages      *Pages
	name       string        // of the template
	back       string        // path of the page that has the form of an action
	answer     *forms.Answer // of the form that led to the page; nil: none did
	typedShown bool          // a form of the page has the fields of the answer

	Session *contract.CurrentSession // nil: the browser has not signed in

	Title    string
	Late     bool          // the page lacks the change that was saved last
	Commands []string      // command lines that do the same as the page; nil: Calls do
	Refused  string        // why an action was refused
	Notice   string        // what an action has done
	Undo     []string      // batches of an action that can be undone; empty: none can
	Rest     []string      // batches whose undo is offered again, for links not changed since
	Form     url.Values    // the fields of the form of an action
	File     string        // the text of the file of the form
	Again    []forms.Input // fields of a form that could not be answered, to send again
	Data     any           // of the template
	Watched  bool          // the page is made for a watcher: only the part that changes
	Status   int
	Redirect string // path to which the browser is redirected; empty: it gets the page

	// Told is a value that an action leaves for the page that it leads to. See Hear.
	Told any
	// Secret is true if Told is a secret, which is kept only for a short time.
	Secret bool
	// Kept is true if the next page shows the typed fields again although the action is done.
	Kept bool

	// Download is a text that the browser stores under the name DownloadName, instead of showing
	// the page. Empty: it shows the page.
	Download, DownloadName string
}

// Finish sets the page that follows an action, and the notice of what was done. It returns err. If
// err is not nil, the page with the form follows instead, and shows the refusal.
func (p *Page) Finish(err error, to, notice string) error {
	p.Redirect, p.Notice = to, notice
	return err
}

// FinishUndoable is Finish for an action whose calls can be undone.
func (p *Page) FinishUndoable(err error, to, notice string) error {
	p.Undo = p.Batches()
	return p.Finish(err, to, notice)
}

// Refuse adds the reason of a refusal to the page.
func (p *Page) Refuse(r *calls.RefusedError) {
	text := words.Refusal(r.Text)
	if p.answer != nil && p.Refused != "" && p.Refused != text {
		text = p.Refused + ". " + text
	}
	p.Refused, p.Status = text, r.Status
}

// Base returns the scheme and the host at which clients reach the API.
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

// Listed returns the parameters of a list: the parameters with these names that have a value, and
// the offset of the list. An invalid offset, which a person may have typed, counts as none.
func (p *Page) Listed(names ...string) url.Values {
	query := p.Chosen(append(names, "offset")...)
	if offset, err := strconv.Atoi(query.Get("offset")); err != nil || offset <= 0 {
		query.Del("offset")
	}
	return query
}

// Paged returns the pager of a page of a list. A page beyond the end redirects to the last page.
func (p *Page) Paged(path string, query url.Values, at contract.Page) pager.Pager {
	if last := pager.LastPage(path, query, at); last != "" && p.C.Request.Method == http.MethodGet {
		p.Redirect = last
	}
	return pager.New(path, query, at)
}

// At returns the past time that the page is asked to show, as the API takes it. Browsers send the
// time without a zone, which means UTC. At returns "" if the page is asked to show the present.
func (p *Page) At() string {
	text := strings.TrimSpace(p.Query().Get("at"))
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339Nano)
		}
	}
	return text
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
		p.nameLate()
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

// readSession reads the session. The page does not show that call.
func (p *Page) readSession() error {
	var answer contract.CurrentSessionAnswer
	if err := p.Get("/v3/session", nil, &answer); err != nil {
		return err
	}
	p.Session, p.Calls = &answer.Session, nil
	return nil
}
