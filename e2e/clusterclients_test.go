package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
)

const (
	// clientPatience is how long a client waits for a node before it asks another one.
	clientPatience = 2 * time.Second
	// clientPause is what a client waits between two calls.
	clientPause = 10 * time.Millisecond
)

// clients keep several nodes busy. Each goes to another node where a call fails or takes too long,
// until it is answered.
type clients struct {
	t   *testing.T
	key string // of the account
	api []string
	// redirect are the nodes that visitors go to.
	redirect []string
	ledger

	links    []string          // hashes, in the order in which they were answered
	notes    map[string]string // hash: the note that it was given
	deleted  map[string]bool   // by hash
	calls    atomic.Int64      // spreads the calls over the nodes
	turnedTo atomic.Int64      // another node, by a client whose call has failed
}

// keepBusy has clients call until they are told to stop; then they see their last calls through.
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
		return // told already
	}
	c.note(func() {
		c.created[hashes[0]], c.created[hashes[1]] = long+"/a", long+"/b"
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
	c.mu.Lock()
	defer c.mu.Unlock()
	what()
}

// call makes a call under an Idempotency-Key until all of it is answered, and returns the hashes of
// the answer.
func (c *clients) call(method, path, body string) (hashes []string) {
	key := uuid.NewString()
	c.insist(c.api, method, func(ctx context.Context, base string) error {
		request, err := apiRequest(ctx, base, demoUser, c.key, method, path, body)
		if err != nil {
			return err
		}
		request.Header.Set("Idempotency-Key", key)
		answer, err := answerTo(request)
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

// visit follows one of the links. Who comes before a node knows the link, or after its end, goes
// away.
func (c *clients) visit(worker, i int) {
	hash := ""
	c.note(func() {
		if len(c.links) > 0 {
			hash = c.links[(worker+i*i)%len(c.links)]
		}
	})
	c.insist(c.redirect, "GET /"+hash, func(ctx context.Context, base string) error {
		redirected, err := visit(ctx, base, hash, fmt.Sprintf("agent %d", worker))
		c.note(func() {
			if err != nil {
				c.unknown[hash]++
			} else if redirected {
				c.clicked[hash]++
			}
		})
		return err
	})
}

var errNobodyAnswers = errors.New("no node has answered in time")

// insist tries one node after the other.
func (c *clients) insist(nodes []string, what string, try func(ctx context.Context, base string) error) {
	ctx, cancel := context.WithTimeoutCause(c.t.Context(), startTimeout, errNobodyAnswers)
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

// compareWrites demands that every answered edit and deletion is in the tables, and no other.
func (c *clients) compareWrites(db *readmodel.DB) {
	c.t.Helper()
	var links []readmodel.Link
	if err := db.NewSelect().Model(&links).Scan(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	if len(links) != len(c.created) {
		c.t.Errorf("there are %d links, %d were answered, each once", len(links), len(c.created))
	}
	for _, link := range links {
		if link.Note != c.notes[link.Hash] {
			c.t.Errorf("%s has the note %q, was given %q", link.Hash, link.Note, c.notes[link.Hash])
		}
		if link.DeletedAt.IsZero() == c.deleted[link.Hash] {
			c.t.Errorf("%s was deleted at %s, answered: %t", link.Hash, link.DeletedAt, c.deleted[link.Hash])
		}
	}
}
