package openid

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// maxAge is how long a person may take to sign in.
	maxAge = 10 * time.Minute
	// cookieVersion begins the value of a cookie.
	cookieVersion = "1"
	// secretBytes is the length of the state, the nonce and the verifier.
	secretBytes = 32
	// maxCookie is the length of the longest value of a cookie.
	maxCookie = len(cookieVersion) + 4 + 3*secretText + (maxPath*4+2)/3
	// secretText is the length of a state, a nonce or a verifier as text.
	secretText = (secretBytes*4 + 2) / 3
)

// encoding is that of all that is in a cookie. It accepts one spelling of each value.
var encoding = base64.RawURLEncoding.Strict()

// signIn is a sign-in that has begun. The cookie keeps it in the browser, so any node of the
// service can finish it.
type signIn struct{ state, nonce, verifier, returnTo string }

// newSignIn returns a sign-in with new secrets.
func newSignIn(returnTo string) signIn {
	return signIn{newSecret(), newSecret(), newSecret(), LocalPath(returnTo)}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return encoding.EncodeToString(secret)
}

// encode returns the value of the cookie.
func (s signIn) encode() string {
	return strings.Join([]string{
		cookieVersion, s.state, s.nonce, s.verifier, encoding.EncodeToString([]byte(s.returnTo)),
	}, ".")
}

// errCookie means that the value of a cookie was not made by encode. It does not say more: the
// value has secrets.
var errCookie = errors.New("the cookie is malformed")

// parseSignIn returns the sign-in in the value of a cookie. It accepts what encode returns and
// nothing else.
func parseSignIn(value string) (signIn, error) {
	if len(value) > maxCookie {
		return signIn{}, errCookie
	}
	parts := strings.Split(value, ".")
	if len(parts) != 5 || parts[0] != cookieVersion {
		return signIn{}, errCookie
	}
	for _, secret := range parts[1:4] {
		if !isSecret(secret) {
			return signIn{}, errCookie
		}
	}
	returnTo, err := encoding.DecodeString(parts[4])
	if err != nil || encoding.EncodeToString(returnTo) != parts[4] ||
		LocalPath(string(returnTo)) != string(returnTo) {
		return signIn{}, errCookie
	}
	return signIn{parts[1], parts[2], parts[3], string(returnTo)}, nil
}

// isSecret reports whether a text is one that newSecret may return. Both lengths count: the decoder
// skips ends of lines.
func isSecret(text string) bool {
	decoded, err := encoding.DecodeString(text)
	return err == nil && len(decoded) == secretBytes && len(text) == secretText
}

// started returns the sign-in that the browser of a callback has begun.
func (p *Provider) started(r *http.Request) (signIn, error) {
	cookies := r.CookiesNamed(p.cookieName(r))
	if len(cookies) == 0 {
		return signIn{}, fmt.Errorf("%w: the browser has not begun it, or long ago", ErrInvalid)
	}
	if len(cookies) > 1 {
		return signIn{}, fmt.Errorf("%w: there are several cookies of sign-ins", ErrInvalid)
	}
	started, err := parseSignIn(cookies[0].Value)
	if err != nil {
		return signIn{}, fmt.Errorf("%w: %w", ErrInvalid, err)
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

// same compares secrets in constant time.
func same(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
