package page

// This file makes the title and the links of the page of a refusal.

import (
	"net/http"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/calls"
)

// titles are the headings of refusals by their status.
var titles = map[int]string{
	http.StatusForbidden:             "This is not allowed",
	http.StatusNotFound:              "There is no such page",
	http.StatusMethodNotAllowed:      "This cannot be done here",
	http.StatusRequestEntityTooLarge: "This is too long",
	http.StatusTooManyRequests:       "Wait a little",
}

// titleOf returns the heading of the page of a refusal.
func titleOf(r *calls.RefusedError) string {
	if r.Code == apierror.CodeURLNotFound {
		return "There is no such link"
	}
	if title, ok := titles[r.Status]; ok {
		return title
	}
	if r.Status >= http.StatusInternalServerError {
		return "This does not work now"
	}
	return "This did not work"
}

// waysOn are the ways to continue after a refusal.
type waysOn struct {
	Again   string // address that may work when it is opened once more; empty: there is none
	Start   string // path of the page to begin with
	SignIn  string // path of the page for signing in; empty: someone has signed in
	Request string // id of the request, which operators find in the log; empty: none
}

// waysOn returns the ways on from a page that is refused with a status.
func (s *Pages) waysOn(p *Page, status int) waysOn {
	ways := waysOn{Start: s.Start}
	if p.Session == nil {
		ways.SignIn = s.SignIn
	}
	passes := status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
	if passes && p.C.Request.Method == http.MethodGet {
		ways.Again = p.C.Request.URL.RequestURI()
	}
	if status >= http.StatusInternalServerError {
		ways.Request = p.C.ID
	}
	return ways
}

// identify sets the session of a page that shows a failure, so that the page has the navigation.
// After a failure of the service (5xx) it does not ask for the session.
func (s *Pages) identify(p *Page, status int) {
	if status >= http.StatusInternalServerError || p.C.PrefersJSON() ||
		!s.Sessions.Has(p.C.Request) {
		return
	}
	if err := s.Resume(p); err != nil { // the page then leads to the sign-in
		p.Session, p.Calls = nil, nil
	}
}
