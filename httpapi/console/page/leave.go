package page

// Forms without a session, such as the sign-in, keep their refusal in a cookie.

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"linkledger/httpapi/session"
)

// The names of the cookie with what a form has left: see Leave. Browsers accept the first only over
// HTTPS and from this very host.
const (
	secureLeft = "__Host-linkledger-left"
	plainLeft  = "linkledger-left"
	// leftKept is how long the cookie is kept, in seconds.
	leftKept = 60
)

// left is what a form leaves for the next page of a browser.
type left struct {
	Why   string     `json:"why"`
	Typed url.Values `json:"typed"`
}

func (p *Page) leftName() string {
	if session.IsSecure(p.pages.Base, p.C.Request) {
		return secureLeft
	}
	return plainLeft
}

// Leave keeps the reason of a refusal, and what was typed, in a cookie for the next page of the
// browser. It is for forms without a session: nobody can fill the database with them.
func (p *Page) Leave(refused *RefusedError, typed url.Values) {
	encoded, err := json.Marshal(left{refused.Text, typed})
	if err != nil || len(encoded) > 2000 { // impossible for what the sign-in leaves
		return
	}
	p.setLeft(base64.RawURLEncoding.EncodeToString(encoded), leftKept)
}

func (p *Page) setLeft(value string, age int) {
	http.SetCookie(p.C, &http.Cookie{ //nolint:gosec // Secure is set wherever HTTPS is used
		Name: p.leftName(), Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: session.IsSecure(p.pages.Base, p.C.Request),
	})
}

// Left shows what the last form has left, and returns what was typed in it.
func (p *Page) Left() url.Values {
	cookie, err := p.C.Request.Cookie(p.leftName())
	if err != nil {
		return nil
	}
	var found left
	encoded, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(encoded, &found) != nil {
		return nil
	}
	p.setLeft("", -1) // it is shown once
	p.Refused = found.Why
	return found.Typed
}

// ReadOpenForm reads the form of a page for everybody, which pages of other origins may not send.
func (p *Page) ReadOpenForm() error {
	if err := p.pages.Sessions.CheckOrigin(p.C.Request); err != nil {
		return err
	}
	return p.readForm()
}

// StartByLink starts the session that the one-time link of the path is for. After a refusal it
// leads to the page for signing in, which says why.
func (p *Page) StartByLink() error {
	p.Redirect = p.pages.Start
	err := p.pages.Sessions.StartByLink(p.C, p.C.Param("secret"))
	if refused, ok := AsRefusal(err); ok && refused.Status < http.StatusInternalServerError {
		p.Leave(refused, nil)
		p.Redirect = p.pages.SignIn
		return nil
	}
	return err
}
