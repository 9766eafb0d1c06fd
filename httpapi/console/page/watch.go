package page

// This file keeps a part of a page up to date while a browser watches it.

import (
	"bytes"
	"fmt"
	"net/http"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/live"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/session"
)

// livePart is the template of the part of a page that changes while it is watched. A page that has
// it contains <div id="live">{{template "live" .}}</div> and {{template "watch"}}.
const livePart = "live"

// isWatch reports whether a request watches a page instead of opening it.
func (s *Pages) isWatch(r *http.Request, name string) bool {
	return r.Method == http.MethodGet && request.IsWatch(r) &&
		s.templates[name].Lookup(livePart) != nil
}

// watch sends the part of a page that changes while a browser watches it. It makes the page anew
// each time, so that the rights of the session are checked each time.
func (s *Pages) watch(p *Page, fill Fill) error {
	site := p.C.Request.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" {
		return session.ErrOtherOrigin
	}
	return s.watchers.Watch(p.C, live.Watched{
		Begin: p.secure,
		Look: func() (*contract.CurrentSession, []byte, error) {
			looked := s.page(p.C, p.name)
			looked.Watched = true
			part, err := looked.look(fill)
			return looked.Session, part, err
		},
	})
}

var errNothingToWatch = &apierror.Error{
	Code: apierror.CodeWrongInput, Status: http.StatusNotAcceptable,
	Details: "This is no page that can be watched",
}

// look makes a page and returns the part of it that changes.
func (p *Page) look(fill Fill) ([]byte, error) {
	if err := fill(p); err != nil {
		return nil, err
	}
	if p.Redirect != "" || p.Download != "" {
		return nil, errNothingToWatch
	}
	var part bytes.Buffer
	if err := p.pages.templates[p.name].ExecuteTemplate(&part, livePart, p); err != nil {
		return nil, fmt.Errorf("page %s of the console: %w", p.name, err)
	}
	return part.Bytes(), nil
}
