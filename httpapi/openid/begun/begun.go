// Package begun encodes a sign-in that has begun as a cookie. The cookie stays in the browser, so
// any node can finish the sign-in. The package also decides where a person may continue after a
// sign-in. It MUST NOT store or send anything.
package begun

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxAge is how long a person may take to sign in.
	MaxAge = 10 * time.Minute
	// cookieVersion begins the value of a cookie.
	cookieVersion = "2"
	// secretBytes is the length in bytes of each of the state, the nonce, the verifier and the tag
	// that authenticates the cookie.
	secretBytes = sha256.Size
	// secretText is the length of each of these four as text.
	secretText = (secretBytes*4 + 2) / 3
	// maxSeconds is the length of the longest time as text.
	maxSeconds = len("-9223372036854775808")
	// maxCookie is the length of the longest value of a cookie.
	maxCookie = len(cookieVersion) + 6 + maxSeconds + 4*secretText + (maxPath*4+2)/3
)

// encoding encodes all parts of a cookie. It accepts one spelling of each value.
var encoding = base64.RawURLEncoding.Strict()

// SignIn is a sign-in that has begun.
type SignIn struct {
	At int64 // seconds of the Unix epoch

	State, Nonce, Verifier string // 256 random bits each, as text
	ReturnTo               string // a path of LocalPath
}

// New returns a sign-in with new secrets.
func New(returnTo string, now time.Time) SignIn {
	return SignIn{now.Unix(), newSecret(), newSecret(), newSecret(), LocalPath(returnTo)}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return encoding.EncodeToString(secret)
}

// Encode returns the value of the cookie. The value ends with a tag that authenticates the rest of
// it, so the browser can neither prolong the sign-in nor forge one.
func (s SignIn) Encode(secret []byte) string {
	value := strings.Join([]string{
		cookieVersion, strconv.FormatInt(s.At, 10), s.State, s.Nonce, s.Verifier,
		encoding.EncodeToString([]byte(s.ReturnTo)),
	}, ".")
	return value + "." + tagOf(value, secret)
}

// tagOf returns the tag of a value under a secret: HMAC-SHA-256.
func tagOf(value string, secret []byte) string {
	tag := hmac.New(sha256.New, secret)
	tag.Write([]byte(value))
	return encoding.EncodeToString(tag.Sum(nil))
}

// errCookie means that the value of a cookie was not made by Encode. It says no more, because the
// value contains secrets.
var errCookie = errors.New("the cookie is malformed")

// Parse returns the sign-in in the value of a cookie. It accepts what Encode returns under
// the same secret, and nothing else.
func Parse(value string, secret []byte) (SignIn, error) {
	if len(value) > maxCookie {
		return SignIn{}, errCookie
	}
	end := max(0, strings.LastIndexByte(value, '.'))
	parts := strings.Split(value[:end], ".")
	if len(parts) != 6 || parts[0] != cookieVersion ||
		!Same(value[end:], "."+tagOf(value[:end], secret)) {
		return SignIn{}, errCookie
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return SignIn{}, errCookie
	}
	returnTo, err := encoding.DecodeString(parts[5])
	if err != nil || LocalPath(string(returnTo)) != string(returnTo) {
		return SignIn{}, errCookie
	}
	return SignIn{at, parts[2], parts[3], parts[4], string(returnTo)}, nil
}

// Over reports whether a sign-in began more than MaxAge ago. It also returns true if the sign-in
// began more than MaxAge in the future. The clocks of two nodes differ less than that.
func (s SignIn) Over(now time.Time) bool { return now.Sub(time.Unix(s.At, 0)).Abs() > MaxAge }

// Same reports whether two secrets are equal. It takes constant time.
func Same(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}
