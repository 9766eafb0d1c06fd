package projections_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"pgregory.net/rapid"

	"linkledger/events/eventstore"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/projector"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// mortal limits how many statements the connections of a database can send.
type mortal struct {
	statements atomic.Int64 // left to send; the response to the last one never arrives
	sends      bool
}

var errDied = fmt.Errorf("the connection died: %w", os.ErrDeadlineExceeded)

// mortalConn ends with the last statement. After that no connection with the same mortal can be
// opened, as after a kill.
type mortalConn struct {
	net.Conn
	*mortal

	responded chan struct{} // has an element once a byte was read
}

// Read implements net.Conn.
func (c mortalConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case c.responded <- struct{}{}:
	default:
	}
	return n, err
}

// Write implements net.Conn. Each call of pgx writes one statement, a pipeline of statements, or a
// part of a COPY.
func (c mortalConn) Write(b []byte) (int, error) {
	switch left := c.statements.Add(-1); {
	case left > 0:
		return c.Conn.Write(b)
	case left == 0 && c.sends:
		select {
		case <-c.responded: // to an earlier statement
		default:
		}
		_, err := c.Conn.Write(b)
		if answered(b) { // PostgreSQL has executed the statement when it responds
			// After a slow write pgx reads too, and may get the response first.
			go func() { _, _ = c.Read(make([]byte, 1)) }()
			<-c.responded
		}
		return 0, errors.Join(errDied, err, c.Close())
	}
	return 0, errors.Join(errDied, c.Close())
}

// answered reports whether PostgreSQL responds to b, which is so for a statement and for the end of
// a COPY or of a pipeline.
func answered(b []byte) bool {
	for len(b) > 4 {
		if b[0] == 'Q' || b[0] == 'c' || b[0] == 'S' {
			return true
		}
		b = b[min(len(b), 1+int(binary.BigEndian.Uint32(b[1:]))):]
	}
	return false
}

// dying opens the workshop's database a second time. Its connections can send as many statements as
// m allows.
func dying(ctx context.Context, w *foldtest.Workshop, t projectionstest.T, m *mortal) *readmodel.DB {
	t.Helper()
	pools := make([]*pgxpool.Pool, 2)
	for i, cfg := range []*pgxpool.Config{w.DB.Pool.Config(), w.DB.Writers.Config()} {
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return mortalConn{conn, m, make(chan struct{}, 1)}, err
		}
		cfg.MaxConns = 1
		pool, err := pgxpool.NewWithConfig(ctx, cfg)
		if err == nil {
			err = pool.Ping(ctx)
		}
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		pools[i] = pool
	}
	return &readmodel.DB{
		DB: bun.NewDB(stdlib.OpenDBFromPool(pools[0]), pgdialect.New()), Pool: pools[0], Writers: pools[1],
		Keys: w.DB.Keys,
	}
}

// generationNumber matches the numbers in which outcomes of different generations differ.
var generationNumber = regexp.MustCompile(`_g\d+`)

// crashRun is a way to apply a log to a new generation.
type crashRun struct {
	*foldtest.Workshop
	log    []eventstore.Recorded
	cuts   int // number of batches
	poison func(*projector.Config)
	build  bool // build beside an empty serving generation and take over from it
}

// start creates the generation.
func (c *crashRun) start(ctx context.Context, t projectionstest.T) {
	t.Helper()
	c.Empty(ctx, t)
	if !c.build {
		return
	}
	err := c.DB.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		shape, err := readmodel.Shape(c.Projection.Name)
		if err != nil {
			return err
		}
		if err := readmodel.Serve(ctx, tx, c.Projection.Name, generation.First, c.Generation); err != nil {
			return err
		}
		_, err = generation.CreateNext(ctx, tx, c.Projection.Name, shape, "")
		return err
	})
	if err != nil {
		t.Fatalf("new build: %v", err)
	}
	c.Generation++
}

// deliver delivers the log from the checkpoint over db and returns the error that ended the
// delivery.
func (c *crashRun) deliver(ctx context.Context, t projectionstest.T, db *readmodel.DB) error {
	cfg := c.Config(ctx, t)
	cfg.DB = db
	if c.poison != nil {
		c.poison(&cfg)
	}
	if err := c.DB.NewRaw("SELECT NOT built FROM linkledger.generations WHERE name = ? AND generation = ?",
		c.Projection.Name, c.Generation).Scan(ctx, &cfg.Building); err != nil {
		t.Fatalf("building: %v", err)
	}
	p := projector.New(cfg)
	if _, err := p.Checkpoint(ctx); err != nil {
		return err
	}
	defer p.End(ctx)
	size := max(1, (len(c.log)+c.cuts-1)/c.cuts)
	for at := 0; at == 0 || at < len(c.log); at += size {
		batch := foldtest.BatchOf(c.log[at:min(at+size, len(c.log))])
		batch.CaughtUp = at+size >= len(c.log)
		if err := p.Apply(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// outcome returns everything that the run stored in the database, and removes it.
func (c *crashRun) outcome(ctx context.Context, t projectionstest.T) string {
	t.Helper()
	dump := c.Dump(ctx, t)
	var more string
	if err := c.DB.NewRaw(`SELECT concat(
			(SELECT string_agg(concat(serving, built, commit_pos, ' ', prepare_pos), ';' ORDER BY generation) FROM linkledger.generations WHERE name = ?0),
			(SELECT string_agg(indexdef, ';' ORDER BY indexname) FROM pg_indexes WHERE schemaname = ?1),
			(SELECT string_agg(concat(event_id, error), ';' ORDER BY commit_pos) FROM linkledger.dead_letters WHERE name = ?0))`,
		c.Projection.Name, readmodel.GenerationSchema(c.Projection.Name, c.Generation)).Scan(ctx, &more); err != nil {
		t.Fatalf("outcome: %v", err)
	}
	if c.build {
		c.Drop(ctx, t)
		c.Generation--
		c.Drop(ctx, t)
		c.Generation++
	} else {
		c.Clear(ctx, t)
	}
	return dump + generationNumber.ReplaceAllString(more, "")
}

// crash runs over a connection that ends at a statement, then continues over another one. It
// reports whether the run had such a statement.
func (c *crashRun) crash(ctx context.Context, t projectionstest.T, statement int64, sent bool) (died bool, outcome string) {
	t.Helper()
	c.start(ctx, t)
	m := &mortal{sends: sent}
	m.statements.Store(1 << 40)
	db := dying(ctx, c.Workshop, t, m)
	m.statements.Store(statement)
	err := c.deliver(ctx, t, db)
	died = m.statements.Load() <= 0
	if closing := db.Close(); closing != nil {
		t.Fatalf("close: %v", closing)
	}
	if died != (err != nil) {
		t.Fatalf("statement %d: died %t, but the run returned %v", statement, died, err)
	}
	if err := c.deliver(ctx, t, c.DB); err != nil {
		t.Fatalf("after the crash at statement %d: %v", statement, err)
	}
	return died, c.outcome(ctx, t)
}

// TestCrashAtAnyStatement ends the connection at each statement of a run, before or after
// PostgreSQL has executed the statement. It checks that a projector that continues from there
// stores exactly what an undisturbed run stores. The runs park an event, or build a generation.
// make test takes each fifth statement.
func TestCrashAtAnyStatement(t *testing.T) {
	t.Parallel()
	histories := rapid.Custom(logtest.Draw)
	for _, name := range projections.Names() {
		for _, build := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, build %t", name, build), func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				c := &crashRun{Workshop: foldtest.New(t, name), cuts: 2, build: build}
				for seed := 0; len(c.log) < 6; seed++ {
					c.log = c.Followed(histories.Example(seed).Log)
				}
				c.log = c.log[:6]
				if !build {
					c.poison = c.Poisoning(c.log[len(c.log)/2].Position, false)
				}
				_, want := c.crash(ctx, t, 1<<40, false)
				statement, step := int64(1), int64(soak.N(5, 1))
				for died := true; died; statement += step {
					outcomes := []bool{false, true}
					if build { // a build has many statements: TestCrashAnywhere draws the other cases
						outcomes = []bool{statement/step%2 == 0}
					}
					for _, sent := range outcomes {
						var got string
						if died, got = c.crash(ctx, t, statement, sent); got != want {
							t.Fatalf(
								"killed at statement %d, sent: %t:\n%s\nundisturbed:\n%s", statement, sent, got, want,
							)
						}
					}
				}
				t.Logf("%d events, killed at each %dth of %d statements", len(c.log), step, statement-step-1)
			})
		}
	}
}

// TestCrashAnywhere does the same for a random projection, history, number of batches and
// statement.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	workshops := foldtest.NewEach(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		c := &crashRun{
			Workshop: rapid.SampledFrom(workshops).Draw(t, "projection"),
			cuts:     rapid.IntRange(1, 5).Draw(t, "batches"), build: rapid.Bool().Draw(t, "build"),
		}
		c.log = c.Followed(logtest.Draw(t).Log)
		_, want := c.crash(ctx, t, 1<<40, false)
		_, got := c.crash(ctx, t, rapid.Int64Range(1, 40).Draw(t, "statement"), rapid.Bool().Draw(t, "sent"))
		if got != want {
			t.Fatalf("after a crash:\n%s\nundisturbed:\n%s", got, want)
		}
	})
}
