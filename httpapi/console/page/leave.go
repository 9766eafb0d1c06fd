package page

// This file keeps the refusal of a form for the next page, for browsers without a session.

import (
	"net/http"
	"net/url"

	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/forms"
)

// Leave keeps the reason of a refusal and the typed fields for the next page of a browser without a
// session.
func (p *Page) Leave(refused *calls.RefusedError, typed url.Values) {
	forms.Left{Why: refused.Text, Typed: typed}.Leave(p.C, p.C.Request, p.pages.Base)
}

// Left shows the refusal of the last form, and returns its typed fields, or nil if there is none.
func (p *Page) Left() url.Values {
	found, ok := forms.TakeLeft(p.C, p.C.Request, p.pages.Base)
	if ok {
		p.Refused = found.Why
	}
	return found.Typed
}

// StartByLink starts the session that the one-time link of the path is for. After a refusal it
// leads to the page for signing in, which says why.
func (p *Page) StartByLink() error {
	p.Redirect = p.pages.Start
	err := p.pages.Sessions.StartByLink(p.C, p.C.Param("secret"))
	if refused, ok := calls.AsRefusal(err); ok && refused.Status < http.StatusInternalServerError {
		p.Leave(refused, nil)
		p.Redirect = p.pages.SignIn
		return nil
	}
	return err
}
