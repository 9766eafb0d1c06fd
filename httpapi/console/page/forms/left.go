package forms

// Forms without a session, such as the sign-in, keep their refusal in a cookie.

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// The names of the cookie with a Left. Browsers accept the first only over HTTPS and from this very
// host.
const (
	secureLeft = "__Host-linkledger-left"
	plainLeft  = "linkledger-left"
	// leftKept is how long the cookie is kept, in seconds.
	leftKept = 60
)

// Left is the refusal of a form, for the next page of a browser.
type Left struct {
	Why   string     `json:"why"` // of the refusal
	Typed url.Values `json:"typed"`
}

// Leave keeps the refusal and the typed fields of a form in a cookie. It is for forms without a
// session, which thus cannot fill the database. base is the base URL of the service.
func (l Left) Leave(w http.ResponseWriter, r *http.Request, base shortlink.Base) {
	encoded, err := json.Marshal(l)
	if err != nil || len(encoded) > 2000 { // impossible for the form of the sign-in
		return
	}
	setLeft(w, r, base, base64.RawURLEncoding.EncodeToString(encoded), leftKept)
}

func leftName(base shortlink.Base, r *http.Request) string {
	if session.IsSecure(base, r) {
		return secureLeft
	}
	return plainLeft
}

func setLeft(w http.ResponseWriter, r *http.Request, base shortlink.Base, value string, age int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure is set wherever HTTPS is used
		Name: leftName(base, r), Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: session.IsSecure(base, r),
	})
}

// TakeLeft returns the Left of the last form, and removes the cookie, so that it is shown once.
func TakeLeft(w http.ResponseWriter, r *http.Request, base shortlink.Base) (found Left, ok bool) {
	cookie, err := r.Cookie(leftName(base, r))
	if err != nil {
		return Left{}, false
	}
	encoded, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(encoded, &found) != nil {
		return Left{}, false
	}
	setLeft(w, r, base, "", -1)
	return found, true
}
