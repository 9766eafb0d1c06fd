package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/e2e/e2etest"
	"linkledger/projections/readmodel"
)

const (
	// clientPatience is how long a client waits for a response before it calls another node.
	clientPatience = 2 * time.Second
	// clientPause is how long a client waits between two calls.
	clientPause = 10 * time.Millisecond
)

// clients keep several nodes busy. A client repeats a call that fails or takes too long on another
// node until it succeeds.
type clients struct {
	t   *testing.T
	key string // of the account
	api []string
	// redirect are the base URLs of the nodes that redirect visitors.
	redirect []string
	e2etest.Ledger

	links    []string          // hashes, in the order of the responses
	notes    map[string]string // by hash: the note that the client set
	deleted  map[string]bool   // by hash
	calls    atomic.Int64      // spreads the calls over the nodes
	turnedTo atomic.Int64      // calls that failed and were repeated on another node
}

// keepBusy starts clients that call until stop is called. stop waits for their last calls.
func (c *clients) keepBusy() (stop func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				c.write(worker, i)
			}
		})
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				c.visit(worker, i)
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// write creates two links, edits one, and deletes some.
func (c *clients) write(worker, i int) {
	long, note := fmt.Sprintf("https://example.com/%d/%d", worker, i), fmt.Sprint("note ", i)
	hashes := c.call(
		"POST", "/urls",
		fmt.Sprintf(`{"urls":[{"long_url":%q,"tags":["w%d"]},{"long_url":%q}]}`, long+"/a", worker, long+"/b"),
	)
	if len(hashes) != 2 {
		return // call has reported the error
	}
	c.note(func() {
		c.Created[hashes[0]], c.Created[hashes[1]] = long+"/a", long+"/b"
		c.links = append(c.links, hashes...)
	})
	if c.call("PATCH", "/urls/"+hashes[0], fmt.Sprintf(`{"urls":[{"note":%q}]}`, note)) != nil {
		c.note(func() { c.notes[hashes[0]] = note })
	}
	if i%4 == 0 && c.call("DELETE", "/urls/"+hashes[1], "") != nil {
		c.note(func() { c.deleted[hashes[1]] = true })
	}
}

func (c *clients) note(what func()) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	what()
}

// call makes a call with an Idempotency-Key until all of its items succeed, and returns the hashes
// of the response.
func (c *clients) call(method, path, body string) (hashes []string) {
	key := uuid.NewString()
	c.insist(c.api, method, func(ctx context.Context, base string) error {
		request, err := e2etest.APIRequest(ctx, base, e2etest.DemoUser, c.key, method, path, body)
		if err != nil {
			return err
		}
		request.Header.Set("Idempotency-Key", key)
		answer, err := e2etest.AnswerTo(request)
		if err != nil {
			return err
		}
		hashes = []string{}
		items, _ := answer["urls"].([]any)
		for _, item := range items {
			url := item.(map[string]any)
			if problem := url["error"].(map[string]any); problem["code"] != 0.0 {
				return fmt.Errorf("item of %s %s: %v", method, path, problem)
			}
			hashes = append(hashes, url["hash"].(string))
		}
		return nil
	})
	return hashes
}

// visit follows one of the links. A visitor may get no redirect, because the node does not know the
// link yet or the link was deleted. Such a visit is not repeated.
func (c *clients) visit(worker, i int) {
	hash := ""
	c.note(func() {
		if len(c.links) > 0 {
			hash = c.links[(worker+i*i)%len(c.links)]
		}
	})
	c.insist(c.redirect, "GET /"+hash, func(ctx context.Context, base string) error {
		redirected, err := e2etest.Visit(ctx, base, hash, fmt.Sprintf("visitor %d", worker))
		c.note(func() {
			if err != nil {
				c.Unknown[hash]++
			} else if redirected {
				c.Clicked[hash]++
			}
		})
		return err
	})
}

var errNobodyAnswers = errors.New("no node has answered in time")

// insist calls try with one node after the other until it succeeds.
func (c *clients) insist(nodes []string, what string, try func(ctx context.Context, base string) error) {
	ctx, cancel := context.WithTimeoutCause(c.t.Context(), e2etest.StartTimeout, errNobodyAnswers)
	defer cancel()
	pause := time.NewTicker(clientPause)
	defer pause.Stop()
	for first := c.calls.Add(1); ; first++ {
		attempt, end := context.WithTimeout(ctx, clientPatience)
		err := try(attempt, nodes[first%int64(len(nodes))])
		end()
		if err != nil {
			c.turnedTo.Add(1)
		}
		select {
		case <-pause.C:
			if err == nil {
				return
			}
		case <-ctx.Done():
			c.t.Errorf("%s: %v: %v", what, context.Cause(ctx), err)
			return
		}
	}
}

// compareWrites checks that the tables have exactly the edits and deletions that were confirmed.
func (c *clients) compareWrites(db *readmodel.DB) {
	c.t.Helper()
	var links []readmodel.Link
	if err := db.NewSelect().Model(&links).Scan(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	if len(links) != len(c.Created) {
		c.t.Errorf("there are %d links, want the %d that were confirmed", len(links), len(c.Created))
	}
	for _, link := range links {
		if link.Note != c.notes[link.Hash] {
			c.t.Errorf("%s has the note %q, was given %q", link.Hash, link.Note, c.notes[link.Hash])
		}
		if link.DeletedAt.IsZero() == c.deleted[link.Hash] {
			c.t.Errorf("%s was deleted at %s, deletion confirmed: %t", link.Hash, link.DeletedAt, c.deleted[link.Hash])
		}
	}
}
