package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// maxGroup is how many clicks one append carries; their event stays well below the event store's size limit.
	maxGroup = 4096
	// clickTimeout bounds how long clicks wait for the event store.
	clickTimeout = 5 * time.Second
)

// ErrClicksClosed means that the node is stopping and takes no more clicks.
var ErrClicksClosed = errors.New("click recording has stopped")

// Click is one redirect that is about to be answered.
type Click = events.Click

// Clicks records the clicks of one node. Clicks that arrive while an append is under way go together with the next one,
// so an idle node appends each at once and a busy one appends few large groups.
type Clicks struct {
	store *eventstore.Store
	node  string
	now   func() time.Time

	mu      sync.Mutex
	gather  *group        // takes the clicks that arrive now
	arrived chan struct{} // holds one token while gather has clicks
	closed  bool

	stream string // of the group before; touched by Run only
	next   eventstore.Revision

	position atomic.Uint64 // commit position of the group before
}

// group is a number of clicks that become durable together.
type group struct {
	clicks []Click
	done   chan struct{} // closed when err is known
	err    error
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// NewClicks returns the recorder of this process. Nothing is recorded until Run.
func NewClicks(store *eventstore.Store) *Clicks {
	return &Clicks{
		store: store, node: uuid.NewString(), now: time.Now,
		gather: newGroup(), arrived: make(chan struct{}, 1),
	}
}

// Record returns when the click is durable. With an error its outcome is unknown or it was not recorded.
func (c *Clicks) Record(ctx context.Context, click Click) error {
	for {
		g, joined, err := c.join(click)
		if err != nil {
			return err
		}
		select {
		case <-g.done:
			if joined {
				return g.err
			}
		case <-ctx.Done():
			return fmt.Errorf("record a click: %w", ctx.Err())
		}
	}
}

// join adds the click to the group that gathers. A full group takes none: wait for it and join the next.
func (c *Clicks) join(click Click) (g *group, joined bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, ErrClicksClosed
	}
	if len(c.gather.clicks) == maxGroup {
		return c.gather, false, nil
	}
	c.gather.clicks = append(c.gather.clicks, click)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	return c.gather, true, nil
}

// take returns what has gathered and starts the next group.
func (c *Clicks) take() *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.gather
	c.gather = newGroup()
	return g
}

// Run appends groups until ctx ends, then refuses new clicks, appends those that have been taken, and returns.
func (c *Clicks) Run(ctx context.Context) error {
	for {
		select {
		case <-c.arrived:
			c.write(c.take())
		case <-ctx.Done():
			c.mu.Lock()
			c.closed = true
			c.mu.Unlock()
			c.write(c.take())
			return nil
		}
	}
}

// write appends one group. It does not end with Run's context: clicks that were taken are written.
func (c *Clicks) write(g *group) {
	defer close(g.done)
	if len(g.clicks) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), clickTimeout)
	defer cancel()
	stream := events.StreamClicks + c.now().UTC().Format(time.DateOnly) + "-" + c.node
	if stream != c.stream {
		c.stream, c.next = stream, eventstore.NoStream
	}
	appended, err := c.store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: c.next, Command: uuid.New(),
		Events: []events.Event{events.ClicksRecorded{Clicks: g.clicks}},
	})
	if err != nil {
		// Whether it was written is unknown, and so is the stream's revision: go on in a stream of its own.
		c.node, c.stream = uuid.NewString(), ""
		g.err = fmt.Errorf("record clicks: %w", err)
		return
	}
	c.next = appended.Revision
	c.position.Store(appended.Position.Commit)
}

// Position is the commit position of the clicks recorded last.
func (c *Clicks) Position() uint64 { return c.position.Load() }
