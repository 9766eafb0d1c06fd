package openid

// This file sets and reads the cookie of a sign-in.

import (
	"fmt"
	"net/http"

	"linkledger/httpapi/openid/begun"
)

// started returns the sign-in that the browser of a callback has begun.
func (p *Provider) started(r *http.Request) (begun.SignIn, error) {
	cookies := r.CookiesNamed(p.cookieName(r))
	if len(cookies) == 0 {
		return begun.SignIn{}, fmt.Errorf(
			"%w: the browser has not begun it, or began it too long ago", ErrInvalid,
		)
	}
	if len(cookies) > 1 {
		return begun.SignIn{}, fmt.Errorf("%w: there are several cookies of sign-ins", ErrInvalid)
	}
	started, err := begun.Parse(cookies[0].Value, p.cfg.Secret)
	if err != nil {
		return begun.SignIn{}, invalid(err)
	}
	if started.Over(p.cfg.Now()) {
		return begun.SignIn{}, fmt.Errorf("%w: it has taken more than %s", ErrInvalid, begun.MaxAge)
	}
	return started, nil
}

// cookieName returns the name of the cookie. Browsers accept the prefix __Host- from this host
// alone and over HTTPS alone, so neither another subdomain nor the network can plant a sign-in.
func (p *Provider) cookieName(r *http.Request) string {
	if p.cfg.Secure(r) {
		return "__Host-linkledger-signin"
	}
	return "linkledger-signin"
}

// cookie returns the cookie of a sign-in. Its path is / because the prefix __Host- requires that.
// SameSite is Lax because the callback is a navigation from another site.
func (p *Provider) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is set wherever HTTPS is used
		Name: p.cookieName(r), Value: value, Path: "/", MaxAge: age,
		Secure: p.cfg.Secure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
