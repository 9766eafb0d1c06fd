package httpapitest

// This file calls the API as an account does.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/projections"
)

// EditAccount changes an account and waits until the read models show the change.
func (s *Stack) EditAccount(t testing.TB, username string, edit accounts.Change) {
	t.Helper()
	edited, err := s.Accounts.Edit(WithTimeout(t), domain.Request{Command: uuid.New()}, username, edit)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(WithTimeout(t), projections.Accounts, edited.Position.Commit); err != nil {
		t.Fatal(err)
	}
}

// Together makes n calls at once.
func Together(n int, call func(i int)) {
	var calls sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		calls.Go(func() {
			<-start
			call(i)
		})
	}
	close(start)
	calls.Wait()
}

// ByHeaders sends the client's credentials in their own headers instead of HTTP Basic.
func (c *Client) ByHeaders(r *http.Request) {
	r.Header.Del("Authorization")
	r.Header.Set("X-Tinycc-User", c.Username)
	r.Header.Set("X-Tinycc-Key", c.Key)
}

// KeyNamed returns a listed key by its name.
func (c *Client) KeyNamed(name string) contract.AccountKey {
	c.T.Helper()
	for _, key := range c.Must("GET", "/v3/keys", "").Keys {
		if key.Name == name {
			return key
		}
	}
	c.T.Fatalf("no key is named %q", name)
	return contract.AccountKey{}
}

// EndsAtOnce makes 64 users call until each was refused five times. Once the calls of all users work, it calls end,
// which ends the session or key that they use. A call that begins after end has returned MUST be refused. user returns
// the call of user i.
func EndsAtOnce(t *testing.T, user func(i int) func() *Answer, end func()) {
	t.Helper()
	const users = 64
	var ended atomic.Pointer[time.Time]
	var working, calling sync.WaitGroup
	working.Add(users)
	for i := range users {
		call := user(i)
		calling.Go(func() {
			works, refusals := sync.OnceFunc(working.Done), 0
			for refusals < 5 {
				began := time.Now()
				a := call()
				at := ended.Load()
				switch {
				case a.Status == http.StatusOK && at != nil && began.After(*at):
					t.Errorf("a call was carried out %v after the answer", began.Sub(*at))
				case a.Status == http.StatusOK:
					works()
				default:
					refusals++
				}
			}
			works()
		})
	}
	working.Wait()
	end()
	answered := time.Now()
	ended.Store(&answered)
	calling.Wait()
}

// Stranger returns a client that sends a wrong key for a user name.
func (s *Stack) Stranger(t testing.TB, username string) *Client {
	t.Helper()
	return &Client{T: t, Handler: s.Server, Username: username, Key: "lk_wrong"}
}

// Deactivate deactivates an account and waits for the read models.
func (s *Stack) Deactivate(t testing.TB, username string) {
	t.Helper()
	if _, err := s.Accounts.Deactivate(WithTimeout(t), domain.Request{Command: uuid.New()}, username); err != nil {
		t.Fatal(err)
	}
	s.CatchUp(t)
}

// At reads a path with the time asOf in the parameter at.
func (c *Client) At(path, asOf string) *Answer {
	c.T.Helper()
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return c.Call(http.MethodGet, path+separator+"at="+url.QueryEscape(asOf), "")
}

// Check makes the call that checks a file of proofs or an export, and returns the result.
func (c *Client) Check(file string) contract.Check {
	c.T.Helper()
	body, err := json.Marshal(contract.ProofPayload{File: file})
	if err != nil {
		c.T.Fatal(err)
	}
	return c.Must(http.MethodPost, "/v3/proofs", string(body)).Check
}

// WithKey adds a key with the given fields to the account, and returns a client that calls with
// this key.
func (c *Client) WithKey(fields string) *Client {
	c.T.Helper()
	added := *c
	added.Key = c.Must("POST", "/v3/keys", "{"+fields+"}").Keys[0].Key
	return &added
}

// On returns a copy of the client that calls another node.
func (c *Client) On(node http.Handler) *Client {
	other := *c
	other.Handler = node
	return &other
}

// CreateAll creates one URL for each hash, in order.
func (c *Client) CreateAll(hashes ...string) {
	c.T.Helper()
	for _, hash := range hashes {
		c.Create(`"long_url":"https://example.com/` + hash + `","custom_hash":"` + hash + `"`)
	}
}

// Client opens an account and returns a client for it.
func (s *Stack) Client(t testing.TB, username string) *Client {
	t.Helper()
	opened, err := s.Accounts.Open(WithTimeout(t), domain.Request{Command: uuid.New()}, username, "free")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(WithTimeout(t), projections.Accounts, opened.Position.Commit); err != nil {
		t.Fatal(err)
	}
	return &Client{T: t, Handler: s.Server, Username: username, Key: opened.Key, ID: opened.Account.ID}
}

// Client calls the API as an account.
type Client struct {
	T             testing.TB
	Handler       http.Handler
	Username, Key string
	ID            string
}

// Call sends a JSON body with the client's credentials.
func (c *Client) Call(method, path, body string, changes ...With) *Answer {
	c.T.Helper()
	changes = append([]With{
		func(r *http.Request) { r.SetBasicAuth(c.Username, c.Key) }, Header("Content-Type", "application/json"),
	}, changes...)
	return Send(c.T, c.Handler, method, path, body, changes...)
}

// Must makes a call and fails the test if the call or an item fails.
func (c *Client) Must(method, path, body string, changes ...With) *Answer {
	c.T.Helper()
	a := c.Call(method, path, body, changes...)
	a.Is(http.StatusOK, apierror.CodeOK)
	for i, item := range a.URLs {
		if item.Error != nil && item.Code() != apierror.CodeOK {
			c.T.Fatalf("%s %s: item %d: %+v", method, path, i, *item.Error)
		}
	}
	return a
}

// Create creates one URL with the given fields.
func (c *Client) Create(fields string) Item {
	c.T.Helper()
	return c.Must(http.MethodPost, "/v3/urls", `{"urls":[{`+fields+`}]}`).URLs[0]
}

// Read reads one URL.
func (c *Client) Read(hash string) Item {
	c.T.Helper()
	return c.Must(http.MethodGet, "/v3/urls/"+hash, "").URLs[0]
}

// Undo undoes the changes of a call.
func (c *Client) Undo(batch string) *Answer {
	c.T.Helper()
	a := c.Call(http.MethodPost, "/v3/batches/"+batch+"/undo", "")
	a.Is(http.StatusOK, apierror.CodeOK)
	Equal(c.T, "batch", a.Undo.Batch, batch)
	return a
}

// Counter returns a counter of the account.
func (c *Client) Counter(name string) int64 {
	c.T.Helper()
	return c.Must(http.MethodGet, "/v3/account", "").Counter(name)
}
