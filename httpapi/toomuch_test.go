package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/internal/soak"
	"linkledger/projections"
)

// short is a time limit that a test waits for.
const short = httpapitest.Timeout / 40

// slowly sends the body of a request after a while.
func slowly(after time.Duration) httpapitest.With {
	return func(r *http.Request) {
		text, err := io.ReadAll(r.Body)
		sent := strings.NewReader(string(text))
		wait := sync.OnceFunc(func() { <-time.After(after) })
		r.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
			if err != nil {
				return 0, err
			}
			wait()
			return sent.Read(p)
		}))
	}
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSlowClientsAreNotTheNodesFault sends bodies for longer than the service takes for a request. A stranger can do so
// at the sign-in.
func TestSlowClientsAreNotTheNodesFault(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	c := s.Client(t, "acme")
	s.Server.SetRequestTimeout(short)
	var slow sync.WaitGroup
	slow.Go(func() { c.Must("POST", "/v3/urls", httpapitest.Batch(1), slowly(short+short/4)) })
	slow.Go(func() {
		form := url.Values{"username": {"acme"}, "key": {"wrong"}}.Encode()
		a := s.Browser(t).Call("POST", "/console/sign-in", form, slowly(short+short/4), httpapitest.Header("Content-Type", "application/x-www-form-urlencoded"),
			httpapitest.Header("Sec-Fetch-Site", "same-origin"))
		httpapitest.Equal(t, "a slow sign-in", a.Status, http.StatusSeeOther) // to the form, with the reason
	})
	slow.Wait()
}

// TestTooManyChangesOfOneThing changes a link, a key and the tags of an account by many calls at once. A call for which
// the others were too fast in every attempt says so.
func TestTooManyChangesOfOneThing(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	key := c.Must("POST", "/v3/keys", `{"name":"x"}`).Keys[0].ID
	var calls sync.WaitGroup
	var busy atomic.Int64
	for i := range soak.N(40, 1000) {
		for _, call := range [][3]string{
			{"PATCH", "/v3/urls/one", `{"urls":[{"max_clicks":%d}]}`},
			{"PATCH", "/v3/keys/" + key, `{"name":"%d"}`},
			{"POST", "/v3/tags", `{"label":"t%d"}`},
		} {
			calls.Go(func() {
				a := c.Call(call[0], call[1], fmt.Sprintf(call[2], i+1))
				if a.Status == http.StatusTooManyRequests {
					busy.Add(1)
					httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "1")
					return
				}
				a.Is(http.StatusOK, apierror.CodeOK)
			})
		}
	}
	calls.Wait()
	t.Logf("for %d calls others were too fast", busy.Load())
}

// TestLongOperationsAreNotTheNodesFault changes more links than the time for one call allows, while other changes of the
// account wait for their turn.
func TestLongOperationsAreNotTheNodesFault(t *testing.T) {
	t.Parallel()
	var late atomic.Bool
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.OperationTimeout, cfg.WaitTimeout = short, short
		wait := cfg.Projections.Wait
		cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
			if projection == projections.Links && late.Load() {
				<-ctx.Done()
			}
			return wait(ctx, projection, position)
		}
	})
	c := s.Client(t, "acme")
	c.Must("POST", "/v3/urls", strings.ReplaceAll(httpapitest.Batch(2*httpapitest.OperationPortion), `"}`, `","tags":["t"]}`))
	late.Store(true)
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			a := c.Call("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"x"}]}`)
			a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
			if a.Header.Get("Retry-After") == "" {
				t.Errorf("the answer has the headers %v", a.Header)
			}
		})
	}
	calls.Wait()
	late.Store(false)
	for ctx := httpapitest.WithTimeout(t); ; { // each call does a part of the rest
		a := c.Call("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"x"}]}`)
		if a.Status != http.StatusTooManyRequests || ctx.Err() != nil {
			a.Is(http.StatusOK, apierror.CodeOK)
			break
		}
	}
}
