package console

import (
	"errors"
	"net/http"
	"net/url"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
)

// sessionRecord is the session of the browser as the API answers it.
type sessionRecord struct {
	ID       string   `json:"id"`
	Account  *string  `json:"account"`
	Role     *string  `json:"role"`
	Scopes   []string `json:"scopes"`
	Tags     *string  `json:"tags"`
	Key      *string  `json:"key"`
	UserID   *string  `json:"user"`
	UserName string   `json:"user_name"`
	Operator bool     `json:"operator"`
	Accounts []struct {
		Username string `json:"username"`
		Role     string `json:"role"`
	} `json:"accounts"`
}

// readSession reads the session. That call is no part of what the page shows.
func (p *page) readSession() error {
	var answer struct {
		Session sessionRecord `json:"session"`
	}
	if err := p.get("/v3/session", nil, &answer); err != nil {
		return err
	}
	p.Session, p.Calls = &answer.Session, nil
	return nil
}

// signInData is what the page for signing in shows.
type signInData struct {
	OpenID string // where people sign in at their issuer; empty: nowhere
	Return string
	Link   bool // the page is that of a one-time link
}

func (h *Handler) askToSignIn(p *page) error {
	p.Title = "Sign in"
	back := openid.LocalPath(p.c.Request.URL.Query().Get("return"))
	data := signInData{Return: back}
	if h.OpenID != "" {
		data.OpenID = h.OpenID + "?return=" + url.QueryEscape(back)
	}
	p.Data = data
	return nil
}

// signIn starts a session for a user name and an API key.
func (h *Handler) signIn(p *page) error {
	if err := h.Sessions.CheckOrigin(p.c.Request); err != nil {
		return err
	}
	form, err := p.form()
	if err != nil {
		return err
	}
	p.username, p.key = form.Get("username"), form.Get("key")
	err = p.call(http.MethodPost, "/v3/sessions", nil, nil)
	refused, ok := errors.AsType[*refusal](err)
	if ok {
		if err := h.askToSignIn(p); err != nil {
			return err
		}
		p.Refused, p.status, p.Calls = refused.text, refused.status, nil
		p.Form = url.Values{"username": {p.username}}
		return nil
	}
	p.redirect = openid.LocalPath(form.Get("return"))
	return err
}

// openLink shows a button that uses a one-time link. Programs that open links to preview them press
// no button, and no page of others can make a browser sign in.
func (h *Handler) openLink(p *page) error {
	p.Title, p.Data = "Sign in", signInData{Link: true}
	return nil
}

// signInByLink starts the session that a one-time link is for.
func (h *Handler) signInByLink(p *page) error {
	err := h.Sessions.CheckOrigin(p.c.Request)
	if err == nil {
		err = h.Sessions.StartByLink(p.c, p.c.Param("secret"))
	}
	refused, ok := asRefusal(err)
	if !ok {
		p.redirect = Root
		return err
	}
	err = h.askToSignIn(p)
	p.Refused, p.status = refused.text, refused.status
	return err
}

func (h *Handler) signOut(p *page) error {
	p.redirect = SignInPath
	return p.call(http.MethodDelete, "/v3/session", nil, nil)
}

// maxForm bounds the body of a form, in bytes.
const maxForm = 1 << 20

// form returns the fields of the form that was sent.
func (p *page) form() (url.Values, error) {
	r := p.c.Request
	r.Body = http.MaxBytesReader(p.c, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, apierror.WrongInput("The form cannot be read")
	}
	return r.PostForm, nil
}
