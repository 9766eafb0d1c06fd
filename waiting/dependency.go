package waiting

// Detection of dependencies that do not answer, so that calls do not wait for them.

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"linkledger/condition"
)

const (
	// doubt is how long an answer may take before Run calls DependencyConfig.Try.
	doubt = time.Second
	// tryTimeout bounds one call of Try, and tryPause is the pause between two calls.
	tryTimeout = time.Second
	tryPause   = 250 * time.Millisecond
)

// LostError means that a dependency has not answered for a while. Calls that need the dependency
// are refused at once.
type LostError struct{ What string }

// Error implements error.
func (e *LostError) Error() string { return "the " + e.What + " does not answer" }

// DependencyConfig configures a Dependency. All fields are required.
type DependencyConfig struct {
	What string // such as database
	// Patience is how long calls wait before the dependency counts as lost.
	Patience time.Duration
	// Try sends a request to the dependency over a connection of its own. It MUST return nil for
	// any answer, even a refusal.
	Try func(context.Context) error
	// End ends the calls that wait for the dependency. These calls can get the reason from Lost.
	End    func()
	Logger *slog.Logger
}

// Dependency knows whether a dependency answers. Calls report to it with Asked and Answered. If
// calls wait for a second without any answer, Run tries the dependency. If the tries get no answer
// either, the dependency is lost until a try gets one. It is not lost if only a single answer is
// slow or this process was suspended, because a try then gets an answer.
//
// A Dependency is safe for concurrent use. Without Run it is never lost.
type Dependency struct {
	cfg   DependencyConfig
	begun time.Time
	asked atomic.Int64 // time from begun to the first call after the last answer; 0: no such call
	lost  atomic.Pointer[LostError]
	there atomic.Pointer[presence] // the current one, or the last one while d is lost
}

// presence is a period in which the dependency is not lost.
type presence struct {
	context.Context //nolint:containedctx // ends when the dependency is lost

	end context.CancelFunc
}

// NewDependency returns a Dependency that is not lost.
func NewDependency(cfg DependencyConfig) *Dependency {
	d := &Dependency{cfg: cfg, begun: time.Now()}
	d.find()
	return d
}

func (d *Dependency) find() {
	ctx, end := context.WithCancel(context.Background())
	d.there.Store(&presence{ctx, end})
	d.lost.Store(nil)
}

func (d *Dependency) lose() {
	d.lost.Store(&LostError{What: d.cfg.What})
	d.there.Load().end()
	d.cfg.End()
}

// Bind returns a context that ends when ctx ends or the dependency is lost. The caller MUST call
// end.
func (d *Dependency) Bind(ctx context.Context) (bound context.Context, end func()) {
	bound, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.there.Load(), cancel)
	return bound, func() {
		stop()
		cancel()
	}
}

// Asked records that a call waits for an answer from now on.
func (d *Dependency) Asked() {
	if d.asked.Load() == 0 {
		d.asked.CompareAndSwap(0, int64(max(time.Since(d.begun), 1)))
	}
}

// Answered records that a call has got an answer.
func (d *Dependency) Answered() {
	if d.asked.Load() != 0 {
		d.asked.Store(0)
	}
}

// Lost returns a LostError while the dependency is lost, and otherwise nil.
func (d *Dependency) Lost() error {
	if lost := d.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// late returns the time since the first call after the last answer, or 0 if there is no such call.
func (d *Dependency) late() time.Duration {
	asked := d.asked.Load()
	if asked == 0 {
		return 0
	}
	return time.Since(d.begun) - time.Duration(asked)
}

// Run tries the dependency while an answer is late or the dependency is lost, until ctx ends. After
// Run the dependency is not lost.
func (d *Dependency) Run(ctx context.Context) {
	log := condition.New(d.cfg.Logger, "a dependency does not answer: calls that need it fail",
		"the dependency answers again")
	name := slog.String("dependency", d.cfg.What)
	ticks := time.NewTicker(tryPause)
	defer ticks.Stop()
	defer func() {
		if d.Lost() != nil {
			d.find()
		}
	}()
	var failing time.Time // start of the first try without an answer; zero: none
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if d.Lost() == nil && d.late() < doubt {
			failing = time.Time{}
			continue
		}
		began := time.Now()
		err := d.try(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing = time.Time{}
			if d.Lost() != nil {
				d.find()
			}
			d.Answered()
			log.Report(ctx, nil, name)
			continue
		case failing.IsZero():
			failing = began
		}
		if d.Lost() == nil && d.late() > 0 && time.Since(failing) >= d.cfg.Patience-doubt {
			d.lose()
		}
		if d.Lost() != nil {
			log.Report(ctx, err, name)
		}
	}
}

// errLateTry is the cause of the end of a try that took longer than tryTimeout.
var errLateTry = errors.New("no answer in time")

func (d *Dependency) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, tryTimeout, errLateTry)
	defer cancel()
	return d.cfg.Try(ctx)
}
