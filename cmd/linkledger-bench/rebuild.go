package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/cmd/linkledger-bench/internal/installation"
	"linkledger/cmd/linkledger-bench/internal/load"
	"linkledger/cmd/linkledger-bench/internal/report"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/subscription"
	"linkledger/projections"
)

// rebuild measures the operator command that rebuilds the links, from its start until the new
// generation serves. One control receives the same events and ignores them. The other control
// copies as many rows into a table without indexes.
func (b *bench) rebuild(
	ctx context.Context, s *installation.Service,
) (results []report.Result, err error) {
	db, err := pgx.Connect(ctx, s.Database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	rows, err := b.saveRows(ctx, db)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("rebuild of %d links", b.size.Links)
	followed := report.Result{
		Name: name, Unit: "links", Control: report.Control{Name: "bare subscription"},
	}
	copied := report.Result{Name: name, Unit: "links", Control: report.Control{Name: "bare COPY"}}
	for range b.Runs {
		ours, err := rate(rows, func() error { return b.rebuildLinks(ctx, s, &followed) })
		if err != nil {
			return nil, load.Failed(name, err)
		}
		received, err := rate(rows, func() error { return follow(ctx, s.Store, s.Last) })
		if err != nil {
			return nil, load.Failed(followed.Control.Name, err)
		}
		bare, err := rate(rows, func() error { return b.copyRows(ctx, db) })
		if err != nil {
			return nil, load.Failed(copied.Control.Name, err)
		}
		followed.Add(ours, received)
		copied.Add(ours, bare)
	}
	copied.PeakMB = followed.PeakMB
	return []report.Result{followed, copied}, nil
}

// rate runs do and returns the rate of a run that handles n links.
func rate(n int64, do func() error) (report.Figures, error) {
	start := time.Now()
	err := do()
	return report.Figures{Rate: float64(n) / time.Since(start).Seconds()}, err
}

// rebuildLinks runs the operator command that rebuilds the links, and prunes the previous
// generation.
func (b *bench) rebuildLinks(ctx context.Context, s *installation.Service, r *report.Result) error {
	rebuild := installation.ProgramCommand(
		ctx, b.program, "projections", "rebuild", projections.Links, "--data", s.Folder,
	)
	if _, err := rebuild.Output(); err != nil {
		return installation.OutputOf(err)
	}
	if used, ok := rebuild.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.PeakMB = max(r.PeakMB, float64(used.Maxrss)*1024/1e6)
	}
	_, err := installation.ProgramCommand(
		ctx, b.program, "projections", "prune", projections.Links, "--data", s.Folder,
	).Output()
	return installation.OutputOf(err)
}

// follow receives the batches of the links projection up to the event at a commit position.
func follow(ctx context.Context, store *eventstore.Store, last uint64) (err error) {
	subscriber := subscription.New(store, subscription.Config{
		Filter: eventstore.Filter{Streams: []string{events.StreamURL, events.StreamClicks}},
		Checkpoint: func(context.Context) (eventstore.Position, error) {
			return eventstore.Position{}, nil
		},
	})
	defer func() { err = errors.Join(err, subscriber.Close()) }()
	messages, err := subscriber.Subscribe(ctx, projections.Links)
	if err != nil {
		return err
	}
	for m := range messages {
		done := subscription.BatchOf(m).Position.Commit >= last
		m.Ack()
		if done {
			return nil
		}
	}
	return errors.Join(errors.New("the subscription ended"), ctx.Err())
}

// saveRows writes the links to a file and creates a table for them.
func (b *bench) saveRows(ctx context.Context, db *pgx.Conn) (rows int64, err error) {
	file, err := os.Create(b.path("rows"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	const all = "SELECT * FROM linkledger.links"
	if _, err := db.Exec(ctx, "CREATE TABLE bench_links AS "+all+" WITH NO DATA"); err != nil {
		return 0, err
	}
	tag, err := db.PgConn().CopyTo(ctx, file, "COPY ("+all+") TO STDOUT (FORMAT binary)")
	return tag.RowsAffected(), err
}

func (b *bench) copyRows(ctx context.Context, db *pgx.Conn) (err error) {
	file, err := os.Open(b.path("rows"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := db.Exec(ctx, "TRUNCATE bench_links"); err != nil {
		return err
	}
	_, err = db.PgConn().CopyFrom(ctx, file, "COPY bench_links FROM STDIN (FORMAT binary)")
	return err
}
