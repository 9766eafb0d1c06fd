package console

// This file signs in and out.

import (
	"net/http"
	"net/url"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/openid/begun"
)

// signInData is what the page for signing in shows.
type signInData struct {
	OpenID   string // address at which people sign in at their issuer; empty: there is none
	Return   string
	Username string // that was typed
	Ended    bool   // the session of the browser has ended
	Link     bool   // the page signs in with a one-time link
}

func (h *Handler) askToSignIn(p *page.Page) error {
	p.Title = "Sign in"
	data := signInData{
		Return: begun.LocalPath(p.Query().Get("return")), Ended: p.Query().Get("ended") != "",
		Username: p.Left().Get("username"),
	}
	if h.cfg.OpenID != "" {
		data.OpenID = h.cfg.OpenID + "?return=" + url.QueryEscape(data.Return)
	}
	p.Data = data
	return nil
}

// signIn starts a session for a user name and an API key.
func (h *Handler) signIn(p *page.Page) error {
	if err := p.ReadOpenForm(); err != nil {
		return err
	}
	back := begun.LocalPath(p.Form.Get("return"))
	p.SignInAs(p.Form.Get("username"), p.Form.Get("key"))
	err := p.Call(http.MethodPost, "/v3/sessions", nil, nil)
	if refused, ok := calls.AsRefusal(err); ok {
		p.Leave(refused, url.Values{"username": p.Form["username"]})
		query := url.Values{"return": {back}}
		if p.Form.Get("ended") != "" {
			query.Set("ended", "1")
		}
		p.Redirect = SignInPath + "?" + query.Encode()
		return nil
	}
	return p.Finish(err, back, "")
}

// openLink shows a button that signs in with a one-time link. Programs that open links to preview
// them do not press the button, so they do not use up the link. Pages of other sites cannot send
// the form of the button, so they cannot make a browser sign in.
func (h *Handler) openLink(p *page.Page) error {
	p.Title, p.Data = "Sign in", signInData{Link: true}
	return nil
}

// signInByLink starts the session that a one-time link is for.
func (h *Handler) signInByLink(p *page.Page) error {
	if err := h.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	return p.StartByLink()
}

// signOut ends the session. If the browser has to sign out at the issuer too, signOut redirects to
// a page that leads there, because the content security policy forbids forms to redirect to another
// site.
func (h *Handler) signOut(p *page.Page) error {
	var answer contract.EndedSessionAnswer
	err := p.Call(http.MethodDelete, "/v3/session", nil, &answer)
	if err != nil || answer.SignOutURL == nil {
		return p.Finish(err, SignInPath, "")
	}
	p.Told, p.Secret, p.Session, p.Calls = *answer.SignOutURL, true, nil, nil
	return p.Finish(nil, signedOut, "")
}

// signedOut makes the page that leads the browser to the sign-out of the issuer. signOut has kept
// the address for this page.
func (h *Handler) signedOut(p *page.Page) error {
	if err := p.Recall(); err != nil {
		return err
	}
	var to string
	if !p.Hear(&to) {
		p.Redirect = SignInPath
		return nil
	}
	p.Title, p.Data = "Signed out", to
	p.C.Header().Set("Refresh", "0; url="+to)
	return nil
}
