package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
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

func (g *gate) adjust(cfg *Config) {
	wait := cfg.Projections.Wait
	cfg.Projections.Wait = func(ctx context.Context, projection string, position uint64) error {
		if projection == projections.Links && g.closed.CompareAndSwap(true, false) {
			close(g.arrived)
			<-g.open
		}
		return wait(ctx, projection, position)
	}
}

// waiting waits until n operations of an account are running or queued.
func (s *stack) waiting(t testing.TB, c *client, n int) {
	t.Helper()
	api := s.handler.(*Server).v3
	for ctx := withTimeout(t); ; {
		if api.Operations(uuid.MustParse(c.id)) == n {
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
	s := newStack(t, g.adjust)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	batch := c.must(
		"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"one","tags":["t"]}]}`,
	).header.Get(response.HeaderBatchID)
	bob.create(`"long_url":"https://example.com/","custom_hash":"bobs","tags":["t"]`)
	operations := [][3]string{
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"x"}]}`},
		{"DELETE", "/v3/stats?tags=t", ""},
		{"POST", "/v3/batches/" + batch + "/undo", ""},
		{"DELETE", "/v3/urls?tags=t", ""},
	}

	g.closed.Store(true)
	var calls sync.WaitGroup
	calls.Go(func() { c.must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"first"}]}`) })
	<-g.arrived
	for i := range operationsWaiting {
		calls.Go(func() {
			do := operations[i%2]
			c.must(do[0], do[1], do[2])
		})
	}
	s.waiting(t, c, 1+operationsWaiting)
	for _, do := range operations {
		a := c.call(do[0], do[1], do[2])
		a.is(http.StatusTooManyRequests, apierror.CodeCallLimit)
		equal(t, "Retry-After", a.header.Get("Retry-After"), "10")
	}
	c.must("PATCH", "/v3/urls/one", `{"urls":[{"archived":true}]}`)
	c.must("DELETE", "/v3/stats?hashes=one", "")
	equal(t, "note while the others wait", c.read("one").Note, "first")
	bob.must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"bobs"}]}`)
	close(g.open)
	calls.Wait()
	equal(t, "note", c.read("one").Note, "x")
	s.waiting(t, c, 0)
	for _, do := range operations {
		c.call(do[0], do[1], do[2])
	}
	s.waiting(t, c, 0)
}

// TestOperationsOfClientsThatLeave checks that an operation whose client disconnects while it waits
// leaves the queue and changes nothing.
func TestOperationsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := newStack(t, g.adjust)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one","tags":["t"]`)
	g.closed.Store(true)
	var calls sync.WaitGroup
	calls.Go(func() { c.must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"first"}]}`) })
	<-g.arrived
	ctx, leave := context.WithCancel(t.Context())
	calls.Go(func() {
		c.call("DELETE", "/v3/urls?tags=t", "", func(r *http.Request) { *r = *r.WithContext(ctx) })
	})
	s.waiting(t, c, 2)
	leave()
	s.waiting(t, c, 1)
	close(g.open)
	calls.Wait()
	equal(t, "note", c.read("one").Note, "first")
	equal(t, "errors in the log", len(s.log.matching("level=ERROR")), 0)
}

// TestOperationsGoOnWithTheReadModels checks that an operation appends at most operationPortion
// changes before the read models show them. Otherwise the writes of other accounts would wait
// behind the whole operation.
func TestOperationsGoOnWithTheReadModels(t *testing.T) {
	t.Parallel()
	g := newGate()
	s := newStack(t, g.adjust)
	c := s.client(t, "alice")
	item := `,{"long_url":"https://example.com/","tags":["t"]}`
	for range 4 {
		c.must("POST", "/v3/urls", `{"urls":[`+strings.Repeat(item, operationPortion)[1:]+`]}`)
	}
	g.closed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.must("PATCH", "/v3/urls?tags=t", `{"urls":[{"archived":true}]}`)
	}()
	<-g.arrived
	s.caughtUp(t)
	equal(
		t, "changed before the read models show the first operationPortion",
		c.must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, operationPortion,
	)
	close(g.open)
	<-done
	equal(t, "changed", c.must("GET", "/v3/urls?tags=archived", "").Page.TotalCount, 4*operationPortion)
}
