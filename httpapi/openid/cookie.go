package openid

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxAge is how long a person may take to sign in.
	maxAge = 10 * time.Minute
	// cookieVersion begins the value of a cookie.
	cookieVersion = "2"
	// secretBytes is the length of the state, the nonce, the verifier and the tag.
	secretBytes = sha256.Size
	// secretText is the length of one of them as text.
	secretText = (secretBytes*4 + 2) / 3
	// maxSeconds is the length of the longest time.
	maxSeconds = len("-9223372036854775808")
	// maxCookie is the length of the longest value of a cookie.
	maxCookie = len(cookieVersion) + 6 + maxSeconds + 4*secretText + (maxPath*4+2)/3
)

// encoding is that of all that is in a cookie. It accepts one spelling of each value.
var encoding = base64.RawURLEncoding.Strict()

// signIn is a sign-in that has begun. The cookie keeps it in the browser, so any node of the
// service can finish it.
type signIn struct {
	begun                            int64 // seconds of the Unix epoch
	state, nonce, verifier, returnTo string
}

// newSignIn returns a sign-in with new secrets.
func newSignIn(returnTo string, now time.Time) signIn {
	return signIn{now.Unix(), newSecret(), newSecret(), newSecret(), LocalPath(returnTo)}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return encoding.EncodeToString(secret)
}

// encode returns the value of the cookie, which ends with a tag over all of it: whoever has the
// cookie can neither make its sign-in last longer nor make one of their own.
func (s signIn) encode(secret []byte) string {
	value := strings.Join([]string{
		cookieVersion, strconv.FormatInt(s.begun, 10), s.state, s.nonce, s.verifier,
		encoding.EncodeToString([]byte(s.returnTo)),
	}, ".")
	return value + "." + tagOf(value, secret)
}

// tagOf returns the tag of a value under a secret: HMAC-SHA-256.
func tagOf(value string, secret []byte) string {
	tag := hmac.New(sha256.New, secret)
	tag.Write([]byte(value))
	return encoding.EncodeToString(tag.Sum(nil))
}

// errCookie means that the value of a cookie was not made by encode. It does not say more: the
// value has secrets.
var errCookie = errors.New("the cookie is malformed")

// parseSignIn returns the sign-in in the value of a cookie. It accepts what encode returns under
// the same secret, and nothing else.
func parseSignIn(value string, secret []byte) (signIn, error) {
	if len(value) > maxCookie {
		return signIn{}, errCookie
	}
	end := max(0, strings.LastIndexByte(value, '.'))
	parts := strings.Split(value[:end], ".")
	if len(parts) != 6 || parts[0] != cookieVersion ||
		!same(value[end:], "."+tagOf(value[:end], secret)) {
		return signIn{}, errCookie
	}
	begun, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return signIn{}, errCookie
	}
	returnTo, err := encoding.DecodeString(parts[5])
	if err != nil || LocalPath(string(returnTo)) != string(returnTo) {
		return signIn{}, errCookie
	}
	return signIn{begun, parts[2], parts[3], parts[4], string(returnTo)}, nil
}

// over reports whether a sign-in has taken too long. The clocks of two nodes may differ, but not by
// more than a sign-in may take.
func (s signIn) over(now time.Time) bool { return now.Sub(time.Unix(s.begun, 0)).Abs() > maxAge }

// started returns the sign-in that the browser of a callback has begun.
func (p *Provider) started(r *http.Request) (signIn, error) {
	cookies := r.CookiesNamed(p.cookieName(r))
	if len(cookies) == 0 {
		return signIn{}, fmt.Errorf("%w: the browser has not begun it, or long ago", ErrInvalid)
	}
	if len(cookies) > 1 {
		return signIn{}, fmt.Errorf("%w: there are several cookies of sign-ins", ErrInvalid)
	}
	started, err := parseSignIn(cookies[0].Value, p.cfg.Secret)
	if err != nil {
		return signIn{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if started.over(p.cfg.Now()) {
		return signIn{}, fmt.Errorf("%w: it has taken more than %s", ErrInvalid, maxAge)
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
