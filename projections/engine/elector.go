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
	"linkledger/projections/readmodel/controlschema"
	"linkledger/robots"
)

const (
	// renewalsPerLease is how many times per lease an idle owner renews it.
	renewalsPerLease = 3
	// electionInterval is how often a process looks for generations without an owner.
	electionInterval = 150 * time.Millisecond
	// releaseTimeout bounds the release of a lease, and of the presence lock, when a process ends.
	releaseTimeout = 2 * time.Second
)

// elector runs a leaseholder for each generation that this process is elected for, and stands by
// for the other generations.
type elector struct {
	cfg         Config
	projections map[string]projection.Definition
	shapes      map[string]string // shapes of this program's tables, by projection
	wake        chan struct{}     // requests an election
	present     atomic.Bool       // this process holds its presence lock, so it may be elected
	tasks       sync.WaitGroup

	mu           sync.Mutex
	leaseholders map[generation.Key]*leaseholder // of this process
}

func newElector(projections projection.Set, cfg Config) *elector {
	e := &elector{
		cfg: cfg, projections: make(map[string]projection.Definition),
		shapes: make(map[string]string),
		wake:   make(chan struct{}, 1), leaseholders: make(map[generation.Key]*leaseholder),
	}
	for _, p := range projections {
		e.projections[p.Name] = p
	}
	return e
}

// run holds elections until ctx ends or a leaseholder fails. It returns when everything that it
// started has ended.
func (e *elector) run(ctx context.Context) error {
	for name := range e.projections {
		var err error
		if e.shapes[name], err = readmodel.Shape(name); err != nil {
			return err
		}
	}
	running, fail := context.WithCancelCause(ctx)
	defer e.tasks.Wait()
	defer fail(nil)
	e.tasks.Go(func() { e.listen(running) })
	ticker := time.NewTicker(min(electionInterval, e.cfg.Lease/renewalsPerLease))
	defer ticker.Stop()
	failing := false
	for {
		err := e.elect(running, fail)
		if err != nil && running.Err() == nil && !failing {
			e.cfg.Logger.WarnContext(ctx, "election failed, trying again", slog.Any("error", err))
		}
		failing = err != nil
		select {
		case <-running.Done():
			if ctx.Err() != nil {
				return nil
			}
			return context.Cause(running)
		case <-ticker.C:
		case <-e.wake:
		}
	}
}

// elect takes over the generations that have no owner.
func (e *elector) elect(ctx context.Context, fail context.CancelCauseFunc) error {
	found, err := generation.Candidates(ctx, e.cfg.DB)
	if err != nil {
		if ctx.Err() == nil { // otherwise the end of this process has caused the error
			e.interruptAll(err)
		}
		return err
	}
	prepared, known := make(map[string]bool), make(map[generation.Key]bool)
	for _, c := range found {
		prepared[c.Name] = true
		p, ours := e.projections[c.Name]
		if !ours || e.cfg.Only != nil && !e.cfg.Only[generation.KeyOf(c.Generation)] {
			continue
		}
		known[generation.KeyOf(c.Generation)] = true
		if l := e.leaseholderOf(generation.KeyOf(c.Generation)); l != nil {
			l.observe(c.Generation)
			l.status.SetServing(c.Serving)
			continue
		}
		status := e.cfg.Registry.Entry(generation.KeyOf(c.Generation))
		status.Observe(c.Generation)
		free := c.Free || c.Owner == e.cfg.Owner
		if !free || c.Paused || c.Shape != e.shapes[c.Name] || !e.present.Load() {
			continue
		}
		at, elected, err := generation.Acquire(
			ctx, e.cfg.DB, c.Generation, e.cfg.Owner, e.cfg.Lease,
		)
		if err != nil {
			status.Interrupt(err)
			return err
		}
		if elected {
			judgement, err := e.judgementOf(ctx, at)
			if err != nil {
				status.Interrupt(err)
				return err // this process owns the generation, so its next election tries again
			}
			e.start(ctx, fail, newLeaseholder(e.cfg, p, at, c.Generation, judgement, status))
			continue
		}
		if err := e.endSilent(ctx, c.Generation); err != nil {
			status.Interrupt(err)
			return err
		}
	}
	for name := range e.projections {
		if !prepared[name] {
			first := generation.Key{Name: name, Generation: generation.First}
			known[first] = true
			e.cfg.Registry.Entry(first).
				Interrupt(fmt.Errorf("%s: %w", name, generation.ErrNotPrepared))
		}
	}
	e.cfg.Registry.Keep(known)
	return nil
}

// judgementOf returns how a generation of this process judges clicks.
func (e *elector) judgementOf(
	ctx context.Context, at generation.Checkpoint,
) (*robots.Judgement, error) {
	if err := at.ChooseJudgement(ctx, e.cfg.DB); err != nil {
		return nil, err
	}
	judgement, _, err := generation.JudgementOf(ctx, e.cfg.DB, at)
	return judgement, err
}

// endSilent ends a database connection of a former owner that was lost in the middle of a batch and
// still locks the generation. It does nothing if there is no such connection.
func (e *elector) endSilent(ctx context.Context, g readmodel.Generation) error {
	process, err := generation.EndSilent(ctx, e.cfg.DB, g)
	if process != 0 {
		e.cfg.Logger.WarnContext(
			ctx, "a connection to PostgreSQL was lost in the middle of a batch, and is ended",
			slog.String("projection", g.Name), slog.String("owner", g.Owner),
			slog.Int("process", process),
		)
	}
	return err
}

// interruptAll stores in the registry that the state of the generations that this process does not
// own is unknown.
func (e *elector) interruptAll(err error) {
	for _, s := range e.cfg.Registry.All() {
		key := generation.Key{Name: s.Projection, Generation: s.Generation}
		if e.leaseholderOf(key) == nil {
			e.cfg.Registry.Entry(key).Interrupt(err)
		}
	}
}

// leaseholderOf returns the leaseholder of a generation in this process, or nil if there is none.
func (e *elector) leaseholderOf(key generation.Key) *leaseholder {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaseholders[key]
}

func (e *elector) start(ctx context.Context, fail context.CancelCauseFunc, l *leaseholder) {
	key := generation.Key{Name: l.at.Name, Generation: l.at.Generation}
	e.mu.Lock()
	e.leaseholders[key] = l
	e.mu.Unlock()
	e.tasks.Go(func() {
		defer e.requestElection() // because this process no longer owns the generation
		err := l.run(ctx)
		e.mu.Lock()
		delete(e.leaseholders, key)
		e.mu.Unlock()
		if err != nil {
			fail(err)
		}
	})
}

// listen holds the presence lock of this process on a connection of its own. It requests an
// election whenever a notification on that connection asks for one.
//
// While the connection is lost, this process is not elected, and other processes take over its
// generations.
func (e *elector) listen(ctx context.Context) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 50*time.Millisecond, 500*time.Millisecond
	failing := false
	for {
		err := e.listenOnce(ctx, func() { wait.Reset(); failing = false })
		if ctx.Err() == nil && !failing {
			e.cfg.Logger.WarnContext(
				ctx, "presence lock lost, trying again", slog.Any("error", err),
			)
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

func (e *elector) listenOnce(ctx context.Context, connected func()) (err error) {
	conn, err := e.cfg.DB.Listen(ctx, readmodel.ControlChannel)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	if err := controlschema.HoldPresence(ctx, conn, e.cfg.Owner); err != nil {
		return err
	}
	e.present.Store(true)
	defer e.present.Store(false)
	connected()
	e.requestElection() // a notification may have been missed before
	for {
		announcement, err := readmodel.NextNotification(ctx, conn)
		if err != nil {
			return err
		}
		if !e.raiseDemand(announcement) {
			e.requestElection()
		}
	}
}

// raiseDemand passes the commit position that a reader waits for to the leaseholders of a
// projection. It returns false if the announcement does not name such a position, but asks for an
// election.
func (e *elector) raiseDemand(announcement string) bool {
	name, text, ok := strings.Cut(announcement, " ")
	position, err := strconv.ParseUint(text, 10, 64)
	if !ok || err != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for generation, l := range e.leaseholders {
		if generation.Name == name {
			l.demand.Raise(position)
		}
	}
	return true
}

// requestElection makes run hold an election soon.
func (e *elector) requestElection() {
	select {
	case e.wake <- struct{}{}:
	default: // one is requested already
	}
}
