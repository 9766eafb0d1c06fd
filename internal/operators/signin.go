package operators

import (
	"net/http"

	"linkledger/httpapi/console/page"
)

// signInData is what the page for signing in shows.
type signInData struct {
	Link bool // the page is that of a one-time link
	Base string
}

func (h *Handler) askToSignIn(p *page.Page) error {
	p.Title, p.Data = "Sign in", signInData{Base: p.Base()}
	return nil
}

// openLink shows a button that uses a one-time link, as the console of owners does.
func (h *Handler) openLink(p *page.Page) error {
	p.Title, p.Data = "Sign in", signInData{Link: true}
	return nil
}

func (h *Handler) signInByLink(p *page.Page) error {
	err := h.Sessions.CheckOrigin(p.C.Request)
	if err == nil {
		err = h.Sessions.StartByLink(p.C, p.C.Param("secret"))
	}
	return p.Finish(err, root, h.askToSignIn)
}

func (h *Handler) signOut(p *page.Page) error {
	p.Status, p.Redirect = http.StatusSeeOther, signInPath
	return h.Sessions.End(p.C, p.C.Session.ID)
}
