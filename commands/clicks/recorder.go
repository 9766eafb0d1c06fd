// Package clicks records clicks in the log. A click is durable before its redirect is answered: the
// event store has it, or the spool on the local disk does, from which it is appended later.
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
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// maxGroup is how many clicks one append carries; their event stays well below the event
	// store's size limit.
	maxGroup = 4096
	// busyGroup is from how many clicks on a group shows that many more are about to come. The next
	// one then waits for them, for a linger: every append costs the same, however many clicks it
	// carries.
	busyGroup = 16
	linger    = 100 * time.Microsecond
	// maxLinks bounds the redirects that the trace of a group links to.
	maxLinks = 64
	// storeTimeout bounds how long clicks wait for the event store where there is no spool.
	storeTimeout = 5 * time.Second
	// DefaultPatience is how long clicks wait for the event store before they go to the spool.
	DefaultPatience = 50 * time.Millisecond
)

// ErrClosed means that the node is stopping and takes no more clicks.
var ErrClosed = errors.New("click recording has stopped")

// Click is one redirect that is about to be answered.
type Click = events.Click

// Config of Clicks.
type Config struct {
	Store *eventstore.Store
	// Spool takes the clicks that the event store is too slow for. Without one such clicks fail.
	// Clicks uses it until Run returns, and does not close it.
	Spool *spool.Spool
	// of groups, with links to the redirects whose clicks they have; nil: they are not traced
	Tracer trace.Tracer
	// how long the event store may take while there is a spool; 0: DefaultPatience
	Patience time.Duration
	Logger   *slog.Logger     // nil discards
	Now      func() time.Time // nil: time.Now
}

// Recorder records the clicks of one node. Clicks that arrive while an append is under way go
// together with the next one, so an idle node appends each at once and a busy one, which waits for
// them a moment longer, appends few large groups.
//
// A group that the event store has not acknowledged in time goes to the spool, as the very append
// that was tried, and so do the groups after it until the event store keeps up again. The appends
// of the spool are repeated until the event store has them; it recognises those that it had
// already, by their event ids and expected revisions. So a click counts once, whether its first
// append failed, succeeded late, or was repeated because the node was killed in between.
type Recorder struct {
	cfg  Config
	node string

	mu           sync.Mutex
	pendingGroup *group        // takes the clicks that arrive now
	arrived      chan struct{} // holds one token while gather has clicks
	closed       bool

	current  stream        // touched by Run only
	spooling atomic.Bool   // groups go to the spool at once
	position atomic.Uint64 // commit position of the latest clicks that are in the log
	recorded atomic.Uint64
	spooled  atomic.Uint64
	drained  atomic.Uint64 // by removal from the spool
	losses   losses
	rates    rates
	drainErr atomic.Pointer[error] // why the spool does not drain, outages apart
}

// group is a number of clicks that become durable together.
type group struct {
	clicks []Click
	links  []trace.Link  // to the traces of the redirects, as far as they are traced
	done   chan struct{} // closed when err is known
	err    error
}

func newGroup(capacity int) *group {
	return &group{clicks: make([]Click, 0, capacity), done: make(chan struct{})}
}

// link notes the trace of a redirect.
func (g *group) link(ctx context.Context) {
	if redirect := trace.SpanContextFromContext(ctx); redirect.IsSampled() &&
		len(g.links) < maxLinks {
		g.links = append(g.links, trace.Link{SpanContext: redirect})
	}
}

// New returns the recorder of this process. Nothing is recorded until Run.
func New(cfg Config) *Recorder {
	if cfg.Patience == 0 {
		cfg.Patience = DefaultPatience
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	c := &Recorder{
		cfg: cfg, node: uuid.NewString(), pendingGroup: newGroup(1), arrived: make(chan struct{}, 1),
	}
	if cfg.Spool != nil {
		c.node = cfg.Spool.Node()
	}
	return c
}

// Record returns when the click is durable, or lost because neither the event store nor the spool
// could take it; Health tells of losses. With an error its outcome is unknown or it was not
// recorded. Of ctx it needs the trace only.
func (c *Recorder) Record(ctx context.Context, click Click) error {
	for {
		g, joined, err := c.join(ctx, click)
		if err != nil {
			return err
		}
		<-g.done // soon: appends are bounded, and a visitor who has left is counted all the same
		if joined {
			return g.err
		}
	}
}

// join adds the click to the group that gathers. A full group takes none: wait for it and join the
// next.
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
		c.arrived <- struct{}{} // has room: take has received the token of the group before
	}
	return c.pendingGroup, true, nil
}

// take returns what has gathered and starts the next group, with room for as many clicks.
func (c *Recorder) take() *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.pendingGroup
	c.pendingGroup = newGroup(max(len(g.clicks), 1))
	return g
}

// Run appends groups and drains the spool until ctx ends, then refuses new clicks, makes durable
// those that have been taken, and returns.
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
			c.record(g)
		case <-ctx.Done():
			c.mu.Lock()
			c.closed = true
			c.mu.Unlock()
			c.record(c.take())
			return nil
		}
	}
}

// record makes one group durable. It does not end with Run's context: clicks that were taken are
// written.
func (c *Recorder) record(g *group) {
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
		if kept := c.spoolAppend(w); kept != nil {
			c.countLost(len(g.clicks), errors.Join(kept, err))
		}
	}
}

// append tries an append while the patience lasts.
func (c *Recorder) append(ctx context.Context, w pendingAppend) error {
	limit := storeTimeout
	if c.cfg.Spool != nil {
		limit = c.cfg.Patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := c.appendOnce(ctx, w); err != nil {
		// Whether it was written is unknown, and so is the stream's revision: go on in a stream of
		// its own.
		c.current = stream{}
		return err
	}
	return nil
}

// Position is the commit position of the clicks recorded last.
func (c *Recorder) Position() uint64 { return c.position.Load() }
