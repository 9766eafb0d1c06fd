package openidtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// How clients authenticate at the token endpoint.
const (
	basicMethod = "client_secret_basic"
	postMethod  = "client_secret_post"
	authMethods = "token_endpoint_auth_methods_supported"
)

// tokenLife is how long an ID token is valid.
const tokenLife = time.Minute

// grant is a sign-in that a code grants.
type grant struct {
	redirectURL, challenge, nonce string
	person                        Person
}

// authorize signs the person in and sends the browser back with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	query := r.URL.Query()
	redirectURL := query.Get("redirect_uri")
	if query.Get("client_id") != i.client.ID ||
		!slices.Contains(i.client.RedirectURLs, redirectURL) {
		http.Error(w, "unknown client or redirect URL "+redirectURL, http.StatusBadRequest)
		return
	}
	if wrong := wrongRequest(query); wrong != "" {
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {query.Get("state")}, "iss": {i.issuer()}}
	if i.refusal != "" {
		answer.Set("error", i.refusal)
		answer.Set("error_description", "for people\r\nto read")
		i.refusal = ""
	} else {
		code := rand.Text()
		i.codes[code] = grant{
			redirectURL, query.Get("code_challenge"), query.Get("nonce"), i.person,
		}
		answer.Set("code", code)
	}
	//nolint:gosec // it is one of the registered URLs
	http.Redirect(w, r, redirectURL+"?"+answer.Encode(), http.StatusFound)
}

// wrongRequest returns why a request to sign in is invalid, or an empty text.
func wrongRequest(query url.Values) string {
	switch {
	case query.Get("response_type") != "code":
		return "response_type is not code"
	case !slices.Contains(strings.Fields(query.Get("scope")), "openid"):
		return "scope has no openid"
	case query.Get("code_challenge_method") != "S256" || len(query.Get("code_challenge")) != 43:
		return "there is no challenge by S256"
	case len(query.Get("state")) < 43 || len(query.Get("nonce")) < 43:
		return "state or nonce has less than 256 bits"
	}
	return ""
}

// token exchanges a code for an access token and an ID token.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fault := i.fault
	i.fault = 0
	if fault == TokenFails {
		http.Error(w, "the issuer is broken", http.StatusInternalServerError)
		return
	}
	if !i.authentic(r) {
		writeJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	granted, ok := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || r.PostFormValue("grant_type") != "authorization_code" ||
		granted.redirectURL != r.PostFormValue("redirect_uri") ||
		granted.challenge != base64.RawURLEncoding.EncodeToString(challenge[:]) {
		// Some issuers repeat the request in their errors.
		writeJSON(w, http.StatusBadRequest, map[string]any{
			"error": "invalid_grant", "error_description": r.PostForm.Encode(),
		})
		return
	}
	access := rand.Text()
	i.tokens[access] = granted.claims()
	idToken, err := i.sign(fault, i.idClaims(granted))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 60}
	if fault != NoToken {
		answer["id_token"] = idToken
	}
	writeJSON(w, http.StatusOK, answer)
}

// authentic reports whether the client has authenticated in one of the ways that the discovery
// names. The caller holds the mutex.
func (i *Issuer) authentic(r *http.Request) bool {
	if id, secret, ok := r.BasicAuth(); ok {
		id, idErr := url.QueryUnescape(id)
		secret, secretErr := url.QueryUnescape(secret)
		return idErr == nil && secretErr == nil && id == i.client.ID && secret == i.client.Secret &&
			i.client.Secret != "" && i.supports(authMethods, basicMethod)
	}
	return r.PostFormValue("client_id") == i.client.ID &&
		r.PostFormValue("client_secret") == i.client.Secret &&
		(i.client.Secret == "" || i.supports(authMethods, postMethod))
}

// claims returns the claims about the person.
func (g grant) claims() map[string]any {
	known := map[string]any{
		"sub": g.person.Subject, "email": g.person.Mail, "email_verified": true,
		"name": g.person.Name, "groups": g.person.Groups,
	}
	maps.Copy(known, g.person.Claims)
	maps.DeleteFunc(known, func(_ string, value any) bool { return value == nil })
	return known
}

// idClaims returns the claims of an ID token. The caller holds the mutex.
func (i *Issuer) idClaims(granted grant) map[string]any {
	stated := granted.claims()
	if i.thin {
		stated = map[string]any{"sub": stated["sub"]}
	}
	now := i.now()
	stated["iss"], stated["aud"], stated["nonce"] = i.issuer(), i.client.ID, granted.nonce
	stated["iat"], stated["exp"] = now.Unix(), now.Add(tokenLife).Unix()
	i.session = rand.Text()
	if _, given := granted.person.Claims["sid"]; !given {
		stated["sid"] = i.session
	}
	return stated
}

// userInfo answers with the claims about the person of an access token.
func (i *Issuer) userInfo(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	known, ok := i.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "unknown token", http.StatusUnauthorized)
		return
	}
	writeJSON(w, http.StatusOK, known)
}

// Visit opens the URL that Begin returns, as a browser does at the issuer. It returns the URL of the issuer's redirect
// and does not follow it. client is the HTTP client of the browser; if nil, the browser has no cookies.
func Visit(t testing.TB, client *http.Client, location string) *url.URL {
	t.Helper()
	browser := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if client != nil {
		browser = *client
	}
	browser.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	back, err := response.Location()
	if err != nil {
		t.Fatalf("the issuer answers %s without a Location: %v", response.Status, err)
	}
	return back
}
