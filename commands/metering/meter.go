// Package metering counts the API calls of each account and day over all nodes, and limits them.
package metering

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"linkledger/commands/batch"
	"linkledger/commands/ledger"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const (
	// meteringInterval is how often a node reports the calls of accounts with a limit to the log,
	// and reads the calls of other nodes.
	meteringInterval = time.Second
	// unlimitedRounds is how many intervals the calls of an account without a limit wait to be
	// reported. They can wait because no call is refused, and fewer reports keep the log small.
	unlimitedRounds = 5
	// meteringTimeout bounds one report of all accounts.
	meteringTimeout = 5 * time.Second
	// todayTimeout bounds how long Today waits for the event store.
	todayTimeout = time.Second
)

// Config of a Meter.
type Config struct {
	Store  *eventstore.Store
	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil: time.Now
}

// Meter counts the API calls of accounts. A call is counted in memory. About once a second the node
// adds its counts to the account's stream, at the stream's exact revision, and so reads the counts
// of other nodes. An account that uses several nodes may therefore exceed its daily limit by the
// calls of about a second on each of them. The calls of an account without a limit are added every
// five seconds. The calls that a killed node has not reported yet are lost. It is safe for
// concurrent use.
type Meter struct {
	cfg Config

	mu   sync.Mutex
	days map[usageKey]*usage
}

// usageKey identifies the calls of an account on one day.
type usageKey struct{ account, day string }

func (k usageKey) stream() string {
	return events.StreamUsage + k.account + "-" + k.day[:len("2006-01")]
}

// usage counts the calls of an account on one day.
type usage struct {
	reported int64 // by all nodes, at the last read
	counted  int64 // by this node, and not yet reported as far as the node knows
	limited  bool  // a limit applied to the last call
	waited   int   // rounds for which calls without a limit have waited

	lock   *semaphore.Weighted // held while a goroutine uses the fields below
	stream *ledger.Stream[events.CallsMetered]
	write  *eventstore.Write // with an unknown outcome, repeated until it is known; nil: none
}

// New returns the meter of a node. It reports nothing before Run.
func New(cfg Config) *Meter {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Meter{cfg: cfg, days: make(map[usageKey]*usage)}
}

func (c *Meter) today(account string) usageKey {
	return usageKey{account, c.cfg.Now().UTC().Format(time.DateOnly)}
}

// usageOf returns the usage of a day. c.mu must be held.
func (c *Meter) usageOf(key usageKey) *usage {
	d, ok := c.days[key]
	if !ok {
		d = &usage{
			lock:   semaphore.NewWeighted(1),
			stream: ledger.NewStream[events.CallsMetered](c.cfg.Store, key.stream()),
		}
		c.days[key] = d
	}
	return d
}

// Count counts a call of an account that may make limit calls a day; 0 means any number. It returns
// false and counts nothing if the limit is reached.
func (c *Meter) Count(account string, limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.usageOf(c.today(account))
	if limit > 0 && d.reported+d.counted >= limit {
		return false
	}
	d.counted++
	d.limited = limit > 0
	return true
}

// Today returns how many calls of an account were counted today: the calls that all nodes have
// reported, and the unreported calls of this node. If the event store does not answer, it returns
// the counts in memory.
func (c *Meter) Today(ctx context.Context, account string) int64 {
	key := c.today(account)
	c.mu.Lock()
	d := c.usageOf(key)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, todayTimeout)
	defer cancel()
	if err := d.exclusively(ctx, func() error { return c.refresh(ctx, key, d) }); err != nil {
		c.cfg.Logger.WarnContext(
			ctx, "API calls of other nodes are unknown", slog.String("account", account),
			slog.Any("error", err),
		)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return d.reported + d.counted
}

// exclusively runs do, which may use the fields that lock protects.
func (d *usage) exclusively(ctx context.Context, do func() error) error {
	if err := d.lock.Acquire(ctx, 1); err != nil {
		return err
	}
	defer d.lock.Release(1)
	return do()
}

// Run reports the calls to the log until ctx ends, and then the remaining calls.
func (c *Meter) Run(ctx context.Context) error {
	ticker := time.NewTicker(meteringInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.reportWhere(context.WithoutCancel(ctx), (*usage).endsWaiting)
		case <-ctx.Done():
			c.reportAll(context.WithoutCancel(ctx))
			return nil
		}
	}
}

// endsWaiting counts a round, and returns whether the calls are due in this round.
func (d *usage) endsWaiting() bool {
	if d.waited++; !d.limited && d.waited < unlimitedRounds {
		return false
	}
	d.waited = 0
	return true
}

// reportAll reports all calls counted so far.
func (c *Meter) reportAll(ctx context.Context) {
	c.reportWhere(ctx, func(*usage) bool { return true })
}

// reportWhere reports the counted calls for which isDue returns true, and removes days that are
// over.
func (c *Meter) reportWhere(ctx context.Context, isDue func(*usage) bool) {
	ctx, cancel := context.WithTimeout(ctx, meteringTimeout)
	defer cancel()
	var keys []usageKey
	today := c.today("").day
	c.mu.Lock()
	for key, d := range c.days {
		switch {
		case d.counted > 0:
			if isDue(d) {
				keys = append(keys, key)
			}
		case key.day < today:
			delete(c.days, key)
		}
	}
	c.mu.Unlock()
	errs := make([]error, len(keys))
	batch.Run(len(keys), func(int) []string { return nil }, func(i int) {
		c.mu.Lock()
		d := c.usageOf(keys[i])
		c.mu.Unlock()
		errs[i] = d.exclusively(ctx, func() error {
			_, err := eventstore.Retry(
				func() (struct{}, error) { return struct{}{}, c.report(ctx, keys[i], d) },
			)
			return err
		})
	})
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 {
		c.cfg.Logger.WarnContext(
			ctx, "API calls not reported yet, trying again", slog.Int("accounts", len(errs)),
			slog.Any("error", errs[0]),
		)
	}
}

// report adds the counted calls to the account's stream. A write of an earlier round whose outcome
// is unknown goes first, so that no call is reported twice.
func (c *Meter) report(ctx context.Context, key usageKey, d *usage) error {
	if d.write != nil {
		if err := c.send(ctx, key, d); err != nil {
			return err
		}
	}
	c.mu.Lock()
	calls := d.counted
	c.mu.Unlock()
	if calls == 0 {
		return nil
	}
	last, err := d.stream.Last(ctx)
	if err != nil {
		return err
	}
	write := d.stream.Next(
		nextEvent(last, key.day, calls, c.cfg.Now().UTC().Truncate(time.Microsecond)),
	)
	d.write = &write
	return c.send(ctx, key, d)
}

// send appends d.write. If another node was faster, nothing was written, and send drops d.write.
func (c *Meter) send(ctx context.Context, key usageKey, d *usage) error {
	err := d.stream.Append(ctx, *d.write)
	if errors.Is(err, eventstore.ErrWrongRevision) {
		d.write = nil
	}
	if err != nil {
		return fmt.Errorf("report API calls: %w", err)
	}
	//nolint:forcetypeassert // report wrote it
	written := d.write.Events[0].(events.CallsMetered)
	d.write = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	d.counted -= written.Calls
	d.reported = reportedOn(written, key.day, d.reported)
	return nil
}

// refresh reads the calls that all nodes have reported.
func (c *Meter) refresh(ctx context.Context, key usageKey, d *usage) error {
	if d.write != nil {
		// It is unknown whether d.write was appended, and so whether the log has its calls.
		// d.reported stays.
		return nil
	}
	d.stream.Forget()
	last, err := d.stream.Last(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.reported = reportedOn(last, key.day, d.reported)
	return nil
}

// reportedOn returns the reported calls of a day, as the last event of the stream says. If that
// event is of another day, the count known before stays.
func reportedOn(last events.CallsMetered, day string, before int64) int64 {
	if last.Day == day {
		return last.DayCalls
	}
	return before
}

// nextEvent returns the event that adds calls of a day to the counts of the last event. If the last
// event is of a later day, the calls count on that later day, because a day that is over does not
// change. But if that day is far ahead, it comes from a wrong clock. Then the calls start a new
// count of their own day.
func nextEvent(
	last events.CallsMetered, day string, calls int64, at time.Time,
) events.CallsMetered {
	next := events.CallsMetered{
		Calls: calls, Day: day, DayCalls: calls, MonthCalls: last.MonthCalls + calls, At: at,
	}
	switch {
	case last.Day == day:
		next.DayCalls += last.DayCalls
	case last.Day > day && last.Day <= at.Add(events.MaxLead).Format(time.DateOnly):
		next.Day, next.DayCalls = last.Day, last.DayCalls
	}
	return next
}
