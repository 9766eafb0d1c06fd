package openidtest

import (
	"crypto/rand"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// end signs a browser out and sends it back.
func (i *Issuer) end(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	query := r.URL.Query()
	back := query.Get("post_logout_redirect_uri")
	if query.Get("client_id") != i.client.ID || !slices.Contains(i.client.SignedOutURLs, back) {
		http.Error(w, "unknown client or URL "+back, http.StatusBadRequest)
		return
	}
	i.ended = append(i.ended, query)
	//nolint:gosec // it is one of the registered URLs
	http.Redirect(w, r, back, http.StatusFound)
}

// Ended returns the parameters of the requests to sign out.
func (i *Issuer) Ended() []url.Values {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.ended)
}

// Session returns the id of the session of the last ID token.
func (i *Issuer) Session() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.session
}

// SignOutToken returns a token that says that a session has ended. claims are added to the claims
// of every such token, or replace them. A nil value removes a claim.
func (i *Issuer) SignOutToken(fault Fault, claims map[string]any) string {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	stated := map[string]any{
		"iss": i.issuer(), "aud": i.client.ID, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix(),
		"jti": rand.Text(), "events": map[string]any{
			"http://schemas.openid.net/event/backchannel-logout": map[string]any{},
		},
	}
	maps.Copy(stated, claims)
	token, err := i.sign(fault, stated)
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}
