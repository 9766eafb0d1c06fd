package console

import (
	"net/http"
	"net/url"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/openid"
)

// signInData is what the page for signing in shows.
type signInData struct {
	OpenID string // where people sign in at their issuer; empty: nowhere
	Return string
	Link   bool // the page is that of a one-time link
}

func (h *Handler) askToSignIn(p *page.Page) error {
	p.Title = "Sign in"
	data := signInData{Return: openid.LocalPath(p.Query().Get("return"))}
	if h.cfg.OpenID != "" {
		data.OpenID = h.cfg.OpenID + "?return=" + url.QueryEscape(data.Return)
	}
	p.Data = data
	return nil
}

// signIn starts a session for a user name and an API key.
func (h *Handler) signIn(p *page.Page) error {
	if err := h.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	p.SignInAs(form.Get("username"), form.Get("key"))
	err = p.Call(http.MethodPost, "/v3/sessions", nil, nil)
	p.Calls = nil // with no key to show
	p.Form = url.Values{"username": form["username"]}
	return p.Finish(err, openid.LocalPath(form.Get("return")), h.askToSignIn)
}

// openLink shows a button that uses a one-time link. Programs that open links to preview them press
// no button, and no page of others can make a browser sign in.
func (h *Handler) openLink(p *page.Page) error {
	p.Title, p.Data = "Sign in", signInData{Link: true}
	return nil
}

// signInByLink starts the session that a one-time link is for.
func (h *Handler) signInByLink(p *page.Page) error {
	err := h.Sessions.CheckOrigin(p.C.Request)
	if err == nil {
		err = h.Sessions.StartByLink(p.C, p.C.Param("secret"))
	}
	return p.Finish(err, Root, h.askToSignIn)
}

// signOut ends the session, and leads to where the browser signs out at the issuer too. It does so
// by a page, because the policy of pages lets no form lead to another site.
func (h *Handler) signOut(p *page.Page) error {
	var answer struct {
		SignOutURL *string `json:"sign_out_url"`
	}
	if err := p.Call(http.MethodDelete, "/v3/session", nil, &answer); err != nil ||
		answer.SignOutURL == nil {
		p.Redirect = SignInPath
		return err
	}
	p.Title, p.Session, p.Calls, p.Data = "Signed out", nil, nil, *answer.SignOutURL
	p.C.Header().Set("Refresh", "0; url="+*answer.SignOutURL)
	return nil
}
