package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
	"linkledger/projections"
)

// gate blocks the first call that waits for the read model of links after the gate is closed, until
// the gate is opened.
type gate struct {
	closed  atomic.Bool
	arrived chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{arrived: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) adjust(cfg *httpapi.Config) {
	wait := cfg.Projections.Wait
	cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
		if projection == projections.Links && g.closed.CompareAndSwap(true, false) {
			close(g.arrived)
			<-g.open
		}
		return wait(ctx, projection, position)
	}
}

// awaitOperations waits until n operations of an account are running or queued.
func awaitOperations(t testing.TB, s *httpapitest.Stack, c *httpapitest.Client, n int) {
	t.Helper()
	for ctx := httpapitest.WithTimeout(t); ; {
		if s.Server.Operations(uuid.MustParse(c.ID)) == n {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("there were never %d operations", n)
		}
	}
}

// TestOperationsOfAnAccountTakeTurns checks that changes by tags and undone batches of one account
// run one after the other. Up to operationsWaiting operations wait, and further ones are refused
// with Retry-After. Other accounts and other calls do not wait.
func TestOperationsOfAnAccountTakeTurns(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := httpapitest.New(t, g.adjust)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	batch := c.Must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["t"]}]}`,
	).Header.Get(response.HeaderBatchID)
	bob.Create(`"long_url":"https://example.com/","custom_hash":"bobs","tags":["t"]`)
	operations := [][3]string{
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"x"}]}`},
		{"DELETE", "/v3/stats?tags=t", ""},
		{"POST", "/v3/batches/" + batch + "/undo", ""},
		{"DELETE", "/v3/urls?tags=t", ""},
	}

	g.closed.Store(true)
	var calls sync.WaitGroup
	calls.Go(func() { c.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"first"}]}`) })
	<-g.arrived
	for i := range httpapitest.OperationsWaiting {
		calls.Go(func() {
			do := operations[i%2]
			c.Must(do[0], do[1], do[2])
		})
	}
	awaitOperations(t, s, c, 1+httpapitest.OperationsWaiting)
	for _, do := range operations {
		a := c.Call(do[0], do[1], do[2])
		a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
		httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "10")
	}
	c.Must("PATCH", "/v3/urls/one", `{"urls":[{"archived":true}]}`)
	c.Must("DELETE", "/v3/stats?hashes=one", "")
	httpapitest.Equal(t, "note while the others wait", c.Read("one").Note, "first")
	bob.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"bobs"}]}`)
	close(g.open)
	calls.Wait()
	httpapitest.Equal(t, "note", c.Read("one").Note, "x")
	awaitOperations(t, s, c, 0)
	for _, do := range operations {
		c.Call(do[0], do[1], do[2])
	}
	awaitOperations(t, s, c, 0)
}

// TestOperationsOfClientsThatLeave checks that an operation whose client disconnects while it waits
// leaves the queue and changes nothing.
func TestOperationsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := httpapitest.New(t, g.adjust)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	g.closed.Store(true)
	var calls sync.WaitGroup
	calls.Go(func() { c.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"first"}]}`) })
	<-g.arrived
	ctx, leave := context.WithCancel(t.Context())
	calls.Go(func() {
		c.Call("DELETE", "/v3/urls?tags=t", "", func(r *http.Request) { *r = *r.WithContext(ctx) })
	})
	awaitOperations(t, s, c, 2)
	leave()
	awaitOperations(t, s, c, 1)
	close(g.open)
	calls.Wait()
	httpapitest.Equal(t, "note", c.Read("one").Note, "first")
	httpapitest.Equal(t, "errors in the log", len(s.Log.Matching("level=ERROR")), 0)
}

// TestOperationsGoOnWithTheReadModels checks that an operation appends at most operationPortion
// changes before the read models show them. Otherwise the writes of other accounts would wait
// behind the whole operation.
func TestOperationsGoOnWithTheReadModels(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := httpapitest.New(t, g.adjust)
	c := s.Client(t, "alice")
	item := `,{"long_url":"https://example.com/","tags":["t"]}`
	for range 4 {
		c.Must("POST", "/v3/urls", `{"urls":[`+strings.Repeat(item, httpapitest.OperationPortion)[1:]+`]}`)
	}
	g.closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"archived":true}]}`)
	}()
	<-g.arrived
	s.CatchUp(t)
	httpapitest.Equal(
		t, "changed before the read models show the first operationPortion",
		c.Must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, httpapitest.OperationPortion,
	)
	close(g.open)
	<-done
	httpapitest.Equal(t, "changed", c.Must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, 4*httpapitest.OperationPortion)
}
