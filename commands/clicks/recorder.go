// Package clicks records clicks in the log. A click is durable before its redirect is answered: it
// is in the event store, or in the spool on the local disk, from which it is appended later. The
// exception is a click that neither can take. It is lost, and counted and logged as such.
package clicks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"linkledger/commands/clicks/spool"
	"linkledger/condition"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// maxGroup is how many clicks one append carries. Their event stays well below the event
	// store's size limit.
	maxGroup = 4096
	// busyGroup is the number of clicks in a group from which on many more clicks are expected
	// soon. The next group then waits for linger, because an append costs the same however many
	// clicks it carries.
	busyGroup = 16
	linger    = 100 * time.Microsecond
	// maxLinks bounds how many traces of redirects the trace of a group links to.
	maxLinks = 64
	// longStoreTimeout is how long clicks wait for the event store if there is no spool, and how
	// long the drain of the spool waits for an append.
	longStoreTimeout = 5 * time.Second
	// lastStoreTimeout is how long clicks wait for the event store once the spool has refused them.
	// After that, they are lost.
	lastStoreTimeout = time.Second
	// DefaultStoreTimeout is how long clicks wait for the event store before they go to the spool.
	DefaultStoreTimeout = 50 * time.Millisecond
)

// ErrClosed means that the node is stopping and takes no more clicks.
var ErrClosed = errors.New("click recording has stopped")

// Click is one redirect, before it is answered.
type Click = events.Click

// Config of a Recorder.
type Config struct {
	Store *eventstore.Store
	// Spool takes the clicks for which the event store is too slow. If nil, such clicks fail. The
	// Recorder uses it until Run returns, and does not close it.
	Spool *spool.Spool
	// Tracer traces groups, with links to the redirects of their clicks. If nil, groups are not
	// traced.
	Tracer trace.Tracer
	// StoreTimeout is how long the event store may take if there is a spool; 0 means
	// DefaultStoreTimeout.
	StoreTimeout time.Duration
	Logger       *slog.Logger     // nil discards
	Now          func() time.Time // nil: time.Now
}

// Recorder records the clicks of one node. Clicks that arrive during an append share the next
// append. So an idle node appends each click at once, and a busy one, which waits a moment longer,
// appends few large groups.
//
// A group that the event store has not acknowledged in time goes to the spool, as the same append.
// The groups after it go to the spool too, until the event store is fast enough again. Appends in
// the spool are repeated until the event store has them. By the event ids and the expected
// revision, the event store recognizes an append that it has already. So a click counts once,
// whether its first append failed, succeeded late, or was repeated because the node was killed in
// between.
type Recorder struct {
	cfg  Config
	node string

	mu           sync.Mutex
	pendingGroup *group        // of the clicks that arrive now
	arrived      chan struct{} // holds one token while pendingGroup has clicks
	closed       bool

	current  stream        // used by Run only
	spooling atomic.Bool   // groups go to the spool first
	position atomic.Uint64 // commit position of the latest clicks that are in the log
	recorded atomic.Uint64
	spooled  atomic.Uint64
	drained  atomic.Uint64 // removed from the spool
	losses   losses
	rates    rates
	// drainErr is the last error that kept the spool from draining, except outages of the event
	// store. It is nil once the spool drains.
	drainErr atomic.Pointer[error]
	// spoolTrouble is why the spool takes no clicks. If it is nil or holds a nil error, the spool
	// takes clicks.
	spoolTrouble atomic.Pointer[error]
	spoolDisk    *condition.Log
}

// group is clicks that become durable together.
type group struct {
	clicks []Click
	links  []trace.Link  // to the sampled traces of the redirects
	done   chan struct{} // closed when err is known
	err    error
}

func newGroup(capacity int) *group {
	return &group{clicks: make([]Click, 0, capacity), done: make(chan struct{})}
}

// link adds the trace of a redirect.
func (g *group) link(ctx context.Context) {
	if redirect := trace.SpanContextFromContext(ctx); redirect.IsSampled() &&
		len(g.links) < maxLinks {
		g.links = append(g.links, trace.Link{SpanContext: redirect})
	}
}

// New returns the recorder of this process. It records nothing before Run.
func New(cfg Config) *Recorder {
	if cfg.StoreTimeout == 0 {
		cfg.StoreTimeout = DefaultStoreTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Recorder{
		cfg: cfg, node: uuid.NewString(), pendingGroup: newGroup(1),
		arrived: make(chan struct{}, 1),
		spoolDisk: condition.New(
			cfg.Logger, "the spool takes no clicks", "the spool takes clicks again",
		),
	}
	if cfg.Spool != nil {
		c.node = cfg.Spool.Node()
	}
	return c
}

// Record returns nil if the click is durable. It also returns nil if the click is lost because
// neither the event store nor the spool could take it; Health reports such losses. An error means
// that the click was not recorded, or that this is unknown. Record uses only the trace of ctx and
// does not stop when ctx ends, so a visitor who leaves is counted too. The wait is bounded, because
// appends have timeouts.
func (c *Recorder) Record(ctx context.Context, click Click) error {
	for {
		g, joined, err := c.join(ctx, click)
		if err != nil {
			return err
		}
		<-g.done
		if joined {
			return g.err
		}
	}
}

// join adds the click to the pending group. It returns false if that group is full. Then the caller
// waits until g is done, and joins the next group.
func (c *Recorder) join(ctx context.Context, click Click) (g *group, joined bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, ErrClosed
	}
	if len(c.pendingGroup.clicks) == maxGroup {
		return c.pendingGroup, false, nil
	}
	c.pendingGroup.clicks = append(c.pendingGroup.clicks, click)
	if c.cfg.Tracer != nil {
		c.pendingGroup.link(ctx)
	}
	if len(c.pendingGroup.clicks) == 1 {
		c.arrived <- struct{}{} // never blocks: take has received the token of the previous group
	}
	return c.pendingGroup, true, nil
}

// take returns the pending group and starts the next one, with the same capacity.
func (c *Recorder) take() *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.pendingGroup
	c.pendingGroup = newGroup(max(len(g.clicks), 1))
	return g
}

// Run appends groups and drains the spool until ctx ends. Then it refuses new clicks, makes the
// accepted ones durable, and returns.
func (c *Recorder) Run(ctx context.Context) error {
	var draining sync.WaitGroup
	defer draining.Wait()
	if c.cfg.Spool != nil {
		draining.Go(func() { c.drain(ctx) })
		draining.Go(func() { c.watchBacklog(ctx) })
	}
	size := 0 // of the last group
	for {
		select {
		case <-c.arrived:
			if size >= busyGroup {
				<-time.After(linger)
			}
			g := c.take()
			size = len(g.clicks)
			c.writeGroup(g)
		case <-ctx.Done():
			c.mu.Lock()
			c.closed = true
			c.mu.Unlock()
			c.writeGroup(c.take())
			return nil
		}
	}
}

// writeGroup makes one group durable. It does not end with the context of Run, because accepted
// clicks must not be lost.
func (c *Recorder) writeGroup(g *group) {
	defer close(g.done)
	if len(g.clicks) == 0 {
		return
	}
	ctx := context.Background()
	if c.cfg.Tracer != nil {
		var span trace.Span
		ctx, span = c.cfg.Tracer.Start(ctx, "record clicks", trace.WithLinks(g.links...),
			trace.WithAttributes(attribute.Int("linkledger.clicks", len(g.clicks))))
		defer span.End()
	}
	if c.spooling.Load() && c.spoolAppend(c.nextAppend(g.clicks, false)) == nil {
		return
	}
	w := c.nextAppend(g.clicks, true)
	err := c.append(ctx, w)
	switch {
	case err == nil:
	case c.cfg.Spool == nil:
		g.err = fmt.Errorf("record clicks: %w", err)
	default:
		refused := c.spoolAppend(w)
		if refused == nil {
			return
		}
		if err := c.appendWithin(ctx, w, lastStoreTimeout); err != nil {
			c.countLost(len(g.clicks), errors.Join(refused, err))
		}
	}
}

// Position returns the commit position of the clicks recorded last; 0: none since the start.
func (c *Recorder) Position() uint64 { return c.position.Load() }
