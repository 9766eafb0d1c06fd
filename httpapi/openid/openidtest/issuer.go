// Package openidtest is an OpenID Connect issuer on loopback. It is for tests only.
package openidtest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The paths of the endpoints, below the issuer's URL.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	AuthorizePath = "/authorize"
	TokenPath     = "/token"
	KeysPath      = "/keys"
	UserInfoPath  = "/userinfo"
	EndPath       = "/end"
)

// Client is the only client of the issuer, as registered there.
type Client struct {
	ID     string
	Secret string // empty for a public client
	// RedirectURLs and SignedOutURLs are the URLs that the issuer may redirect to after a sign-in and after a sign-out.
	RedirectURLs, SignedOutURLs []string
}

// Person is the person who signs in at the issuer. The issuer asks for no password.
type Person struct {
	Subject, Mail, Name string
	Groups              []string // in the claim "groups"
	// Claims are added to the claims of the other fields, or replace them. A nil value removes a claim.
	Claims map[string]any
}

// Ada is the person who signs in unless a test names another.
var Ada = Person{
	Subject: "ada", Mail: "ada@example.com", Name: "Ada Lovelace",
	Groups: []string{"staff", "engineers"},
}

// Issuer is an OpenID Connect issuer with the authorization code flow. It checks the client id and
// secret, the redirect URL and PKCE with S256, and accepts each code once. It is safe for
// concurrent use.
type Issuer struct {
	// URL is the identifier of the issuer, with http on a loopback address.
	URL string

	t       testing.TB
	stopped chan struct{} // closed when the test ends
	usual   *http.ServeMux

	mu        sync.Mutex
	client    Client
	person    Person
	thin      bool
	now       func() time.Time
	fault     Fault
	refusal   string
	signing   signingKey
	document  map[string]any
	overrides map[string]http.Handler // by path
	requests  map[string]int          // by path
	codes     map[string]grant
	tokens    map[string]map[string]any // claims by access token
	session   string                    // of the last ID token
	ended     []url.Values              // requests to sign out
}

// New starts an issuer that signs Ada in for the client "linkledger", and stops it when the test
// ends. It signs with RS256.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{
		t: t, stopped: make(chan struct{}), usual: http.NewServeMux(), now: time.Now,
		client: Client{ID: "linkledger", Secret: "a secret of the client: for tests"},
		person: Ada, signing: firstKey(t),
		overrides: make(map[string]http.Handler), requests: make(map[string]int),
		codes: make(map[string]grant), tokens: make(map[string]map[string]any),
	}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET " + DiscoveryPath: i.discover,
		"GET " + AuthorizePath: i.authorize,
		"POST " + TokenPath:    i.token,
		"GET " + KeysPath:      i.keys,
		"GET " + UserInfoPath:  i.userInfo,
		"GET " + EndPath:       i.end,
	} {
		i.usual.HandleFunc(pattern, handler)
	}
	server := httptest.NewServer(http.HandlerFunc(i.serve))
	i.URL = server.URL
	i.document = i.newDocument()
	t.Cleanup(func() {
		close(i.stopped)
		server.Close()
	})
	return i
}

// newDocument returns the discovery document. It also names algorithms that clients must not
// accept, as real issuers may.
func (i *Issuer) newDocument() map[string]any {
	return map[string]any{
		"issuer":                           i.URL,
		"authorization_endpoint":           i.URL + AuthorizePath,
		"token_endpoint":                   i.URL + TokenPath,
		"jwks_uri":                         i.URL + KeysPath,
		"userinfo_endpoint":                i.URL + UserInfoPath,
		"end_session_endpoint":             i.URL + EndPath,
		"response_types_supported":         []string{"code"},
		"subject_types_supported":          []string{"public"},
		"code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
		authMethods: []string{basicMethod, postMethod, "none"},
		"id_token_signing_alg_values_supported": []string{
			string(jose.RS256), string(jose.ES256), string(jose.HS256), "none",
		},
	}
}

// Client returns the client.
func (i *Issuer) Client() Client {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.client
}

// Register replaces the client.
func (i *Issuer) Register(client Client) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.client = client
}

// SignIn sets the person who signs in from now on.
func (i *Issuer) SignIn(person Person) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.person = person
}

// Refuse makes the issuer answer the next sign-in with an error, such as "access_denied".
func (i *Issuer) Refuse(code string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refusal = code
}

// Misbehave gives the next ID token a fault.
func (i *Issuer) Misbehave(fault Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault = fault
}

// Thin decides whether ID tokens have only the subject of a person. If so, only the UserInfo
// endpoint has the other claims.
func (i *Issuer) Thin(thin bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.thin = thin
}

// Clock sets the clock of the issuer. The default is the clock of the machine.
func (i *Issuer) Clock(now func() time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now = now
}

// Rotate replaces the signing key with a new one for an algorithm, RS256 or ES256. The old key is
// no longer published.
func (i *Issuer) Rotate(algorithm jose.SignatureAlgorithm) {
	i.t.Helper()
	key := newKey(i.t, algorithm)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.signing = key
}

// Discover sets a field of the discovery document, or removes it if the value is nil.
func (i *Issuer) Discover(field string, value any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if value == nil {
		delete(i.document, field)
		return
	}
	i.document[field] = value
}

// CallItself sets the name that the issuer gives itself, which is otherwise its URL.
func (i *Issuer) CallItself(name string) { i.Discover("issuer", name) }

// issuer returns the name that the issuer gives itself. The caller holds the mutex.
func (i *Issuer) issuer() string {
	name, _ := i.document["issuer"].(string)
	return name
}

// Override makes a handler answer a path instead of the issuer. If handler is nil, the issuer
// answers the path again.
func (i *Issuer) Override(path string, handler http.Handler) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.overrides[path] = handler
}

// Fail makes a path answer with a status, such as 500, until Override sets a nil handler.
func (i *Issuer) Fail(path string, status int) {
	i.Override(path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, http.StatusText(status), status)
	}))
}

// Hold makes the answers of a path wait until release is called. When a request begins to wait,
// waiting gets a value, unless an earlier value was not received yet.
func (i *Issuer) Hold(path string) (waiting <-chan struct{}, release func()) {
	held, released := make(chan struct{}, 1), make(chan struct{})
	i.Override(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case held <- struct{}{}:
		default:
		}
		select {
		case <-released:
			i.usual.ServeHTTP(w, r)
		case <-r.Context().Done():
		case <-i.stopped:
		}
	}))
	return held, func() { close(released) }
}

// Requests returns how many requests there were at a path.
func (i *Issuer) Requests(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests[path]
}

// serve counts a request and gives it to the handler that answers at its path.
func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.requests[r.URL.Path]++
	handler := i.overrides[r.URL.Path]
	i.mu.Unlock()
	if handler == nil {
		handler = i.usual
	}
	handler.ServeHTTP(w, r)
}

// discover answers with the discovery document.
func (i *Issuer) discover(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	document := maps.Clone(i.document)
	i.mu.Unlock()
	writeJSON(w, http.StatusOK, document)
}

// supports reports whether a list in the discovery document has a value. The caller holds the
// mutex.
func (i *Issuer) supports(field, value string) bool {
	list, _ := i.document[field].([]string)
	return slices.Contains(list, value)
}

// writeJSON answers with a value as JSON.
func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client that is gone needs no answer
}
