package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/internal/pgserver"
)

const (
	startTimeout = time.Minute
	stopTimeout  = time.Minute
)

var (
	shared   instance
	sequence atomic.Int64
)

// instance is the server of this test process.
type instance struct {
	once   sync.Once
	dir    string
	server *pgserver.Server
	err    error
}

// Main is a [testing.M] that stops the server after the tests.
type Main struct{ M *testing.M }

// Run runs the tests and returns the exit code, as [Run] does.
func (m Main) Run() int { return Run(m.M) }

// Run runs the tests, stops the server, removes its folder and returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "postgrestest:", err)
		return max(code, 1)
	}
	return code
}

// NewDatabase returns the connection URL of an empty database for this test, which is dropped when
// the test ends. Parallel tests may call it. With -short it skips the test, because it would start
// a process.
func NewDatabase(t testing.TB) string {
	t.Helper()
	return newDatabase(t, "template1")
}

func newDatabase(t testing.TB, template string) string {
	t.Helper()
	ensureServer(t)
	name := "test_" + strconv.FormatInt(sequence.Add(1), 10)
	quoted := pgx.Identifier{name}.Sanitize()
	// A copy of the files takes less time than the usual copy through the cache.
	create := "CREATE DATABASE " + quoted + " TEMPLATE " + pgx.Identifier{template}.Sanitize() +
		" STRATEGY FILE_COPY"
	if err := shared.exec(t.Context(), create); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has already ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopTimeout)
		defer cancel()
		if err := shared.exec(ctx, "DROP DATABASE "+quoted+" WITH (FORCE)"); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	dsn, err := withDatabase(shared.server.DSN(), name)
	if err != nil {
		t.Fatalf("name test database: %v", err)
	}
	return dsn
}

// ensureServer starts the server if no test has. With -short it skips the test.
func ensureServer(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL: run without -short")
	}
	shared.once.Do(shared.start)
	if shared.err != nil {
		t.Fatalf("start PostgreSQL for the tests: %v", shared.err)
	}
}

// Template is a database that is filled once and copied for each test. It is safe for concurrent
// use.
type Template struct {
	fill func(ctx context.Context, dsn string) error
	once sync.Once
	name string
	err  error
}

// NewTemplate returns a template. Its first use calls fill, which must close its connections.
func NewTemplate(fill func(ctx context.Context, dsn string) error) *Template {
	return &Template{fill: fill}
}

// NewDatabase is like [NewDatabase], but the database is a copy of the template.
func (m *Template) NewDatabase(t testing.TB) string {
	t.Helper()
	ensureServer(t)
	m.once.Do(m.create)
	if m.err != nil {
		t.Fatalf("create template of test databases: %v", m.err)
	}
	return newDatabase(t, m.name)
}

func (m *Template) create() {
	// The context is not the test's, because the template outlives the test that creates it.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	m.name = "template_" + strconv.FormatInt(sequence.Add(1), 10)
	create := "CREATE DATABASE " + pgx.Identifier{m.name}.Sanitize()
	if m.err = shared.exec(ctx, create); m.err != nil {
		return
	}
	var dsn string
	if dsn, m.err = withDatabase(shared.server.DSN(), m.name); m.err == nil {
		m.err = m.fill(ctx, dsn)
	}
}

func withDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("parse connection URL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func (i *instance) start() {
	// The context is not the test's, because the server outlives the test that starts it.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if i.dir, i.err = os.MkdirTemp("", "linkledger-test-"); i.err != nil {
		return
	}
	i.server, i.err = pgserver.Start(ctx, pgserver.Config{
		Dir:    i.dir,
		BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"),
		Unsafe: true,
	})
}

// end stops the server if it was started, and removes its folder.
func (i *instance) end() error {
	var stopErr error
	if i.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		stopErr = errors.Join(i.server.Err(), i.server.Stop(ctx))
	}
	if i.dir == "" {
		return stopErr
	}
	return errors.Join(stopErr, os.RemoveAll(i.dir))
}

// exec runs one statement on a new connection.
func (i *instance) exec(ctx context.Context, statement string) (err error) {
	conn, err := pgx.Connect(ctx, i.server.DSN())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
