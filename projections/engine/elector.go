package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

const (
	// renewals is how many times per lease an idle owner renews it.
	renewals = 3
	// electionInterval is how often a process looks for generations without an owner.
	electionInterval = 150 * time.Millisecond
	// farewell bounds the release of a lease by a process that is ending.
	farewell = 2 * time.Second
)

// elector keeps those generations up to date that this process is elected for, and stands by for the others.
type elector struct {
	cfg         Config
	projections map[string]projection.Definition
	shapes      map[string]string // of this program's tables, by projection
	wake        chan struct{}     // an election may have another outcome now
	present     atomic.Bool       // this process holds its presence lock, so it may be elected
	working     sync.WaitGroup

	mu           sync.Mutex
	leaseholders map[generation.Key]*leaseholder // of this process
}

func newElector(projections projection.Set, cfg Config) *elector {
	k := &elector{
		cfg: cfg, projections: make(map[string]projection.Definition), shapes: make(map[string]string),
		wake: make(chan struct{}, 1), leaseholders: make(map[generation.Key]*leaseholder),
	}
	for _, p := range projections {
		k.projections[p.Name] = p
	}
	return k
}

// run holds elections until ctx ends or a term ends in a way that it must not, and waits for everything it started.
func (k *elector) run(ctx context.Context) error {
	for name := range k.projections {
		var err error
		if k.shapes[name], err = readmodel.Shape(name); err != nil {
			return err
		}
	}
	running, fail := context.WithCancelCause(ctx)
	defer k.working.Wait()
	defer fail(nil)
	k.working.Go(func() { k.listen(running) })
	ticker := time.NewTicker(min(electionInterval, k.cfg.Lease/renewals))
	defer ticker.Stop()
	failing := false
	for {
		err := k.elect(running, fail)
		if err != nil && running.Err() == nil && !failing {
			k.cfg.Logger.WarnContext(ctx, "election failed, trying again", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-running.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(running)
		case <-ticker.C:
		case <-k.wake:
		}
	}
}

// elect takes over what has no owner.
func (k *elector) elect(ctx context.Context, fail context.CancelCauseFunc) error {
	found, err := generation.Candidates(ctx, k.cfg.DB)
	if err != nil {
		k.interruptAll(err)
		return err
	}
	prepared, known := make(map[string]bool), make(map[generation.Key]bool)
	for _, c := range found {
		prepared[c.Name] = true
		p, ours := k.projections[c.Name]
		if !ours || k.cfg.Only != nil && !k.cfg.Only[generation.KeyOf(c.Generation)] {
			continue
		}
		known[generation.KeyOf(c.Generation)] = true
		if t := k.inOffice(generation.KeyOf(c.Generation)); t != nil {
			t.observe(c.Generation)
			t.status.Serve(c.Serving)
			continue
		}
		status := k.cfg.Board.Entry(generation.KeyOf(c.Generation))
		status.Observe(c.Generation)
		free := c.Free || c.Owner == k.cfg.Owner
		if !free || c.Paused || c.Shape != k.shapes[c.Name] || !k.present.Load() {
			continue
		}
		at, elected, err := generation.Acquire(ctx, k.cfg.DB, c.Generation, k.cfg.Owner, k.cfg.Lease)
		if err != nil {
			status.Interrupt(err)
			return err
		}
		if elected {
			k.start(ctx, fail, newLeaseholder(k.cfg, p, at, c.Generation, status))
		}
	}
	for name := range k.projections {
		if !prepared[name] {
			known[generation.Key{Name: name, Generation: generation.First}] = true
			k.cfg.Board.Entry(generation.Key{Name: name, Generation: generation.First}).Interrupt(fmt.Errorf("%s: %w", name, generation.ErrNotPrepared))
		}
	}
	k.cfg.Board.Keep(known)
	return nil
}

// interruptAll notes on the board that nothing is known of the generations that others own.
func (k *elector) interruptAll(err error) {
	for _, s := range k.cfg.Board.All() {
		if at := (generation.Key{Name: s.Projection, Generation: s.Generation}); k.inOffice(at) == nil {
			k.cfg.Board.Entry(at).Interrupt(err)
		}
	}
}

// inOffice returns the term of this process; nil: it has none.
func (k *elector) inOffice(key generation.Key) *leaseholder {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.leaseholders[key]
}

func (k *elector) start(ctx context.Context, fail context.CancelCauseFunc, t *leaseholder) {
	key := generation.Key{Name: t.at.Name, Generation: t.at.Generation}
	k.mu.Lock()
	k.leaseholders[key] = t
	k.mu.Unlock()
	k.working.Go(func() {
		defer k.again() // it may have ended for somebody else's reason, such as a pause
		err := t.run(ctx)
		k.mu.Lock()
		delete(k.leaseholders, key)
		k.mu.Unlock()
		if err != nil {
			fail(err)
		}
	})
}

// listen holds the presence lock of this process, and an election as soon as one is announced, over a connection of
// its own. While that is lost, this process is not elected, and other processes take its generations over.
func (k *elector) listen(ctx context.Context) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, 500*time.Millisecond
	failing := false
	for {
		err := k.listenOnce(ctx, func() { wait.Reset(); failing = false })
		if ctx.Err() == nil && !failing {
			k.cfg.Logger.WarnContext(ctx, "presence lock lost, trying again", slog.Any("error", err))
		}
		failing = true
		delay := wait.NextBackOff()
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
	}
}

func (k *elector) listenOnce(ctx context.Context, connected func()) (err error) {
	conn, err := k.cfg.DB.Listen(ctx, readmodel.ControlChannel)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if err := readmodel.HoldPresence(ctx, conn, k.cfg.Owner); err != nil {
		return err
	}
	k.present.Store(true)
	defer k.present.Store(false)
	connected()
	k.again() // an announcement may have gone out before
	for {
		announcement, err := readmodel.NextNotification(ctx, conn)
		if err != nil {
			return err
		}
		if !k.demand(announcement) {
			k.again()
		}
	}
}

// demand passes on what an announcement demands of a projection. It is false where the announcement is about elections.
func (k *elector) demand(announcement string) bool {
	name, text, ok := strings.Cut(announcement, " ")
	position, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for generation, t := range k.leaseholders {
		if generation.Name == name {
			t.demand.Raise(position)
		}
	}
	return true
}

// again has an election held soon.
func (k *elector) again() {
	select {
	case k.wake <- struct{}{}:
	default: // one is due already
	}
}
