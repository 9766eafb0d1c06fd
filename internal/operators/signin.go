package operators

import "linkledger/httpapi/console/page"

// signInData is what the page for signing in shows.
type signInData struct {
	Link  bool // the page is for a one-time link
	Base  string
	Ended bool // the session of the browser has ended
}

func (h *Handler) askToSignIn(p *page.Page) error {
	p.Left()
	p.Title, p.Data = "Sign in", signInData{
		Base: p.Base(), Ended: p.Query().Get("ended") != "",
	}
	return nil
}

// openLink shows a button that uses a one-time link, as the console of owners does.
func (h *Handler) openLink(p *page.Page) error {
	p.Title, p.Data = "Sign in", signInData{Link: true}
	return nil
}

func (h *Handler) signInByLink(p *page.Page) error {
	if err := h.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	return p.StartByLink()
}

func (h *Handler) signOut(p *page.Page) error {
	return p.Finish(h.Sessions.End(p.C, p.C.Session.ID), signInPath, "")
}
