package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/condition"
	"linkledger/internal/pgserver/binaries"
	"linkledger/internal/pgserver/orphan"
	"linkledger/internal/pgserver/serveruser"
)

const (
	// name is the name of both the superuser and the database of the service.
	name = "linkledger"
	// readyPoll is the pause between two attempts to connect to a starting server.
	readyPoll = 20 * time.Millisecond
	// abortTimeout bounds the shutdown of a server whose start failed.
	abortTimeout = 10 * time.Second
	// quitTimeout bounds an immediate shutdown. PostgreSQL kills its child processes after five
	// seconds.
	quitTimeout = 10 * time.Second
	// restartPause is the shortest time between two starts of a server that ends by itself.
	restartPause = time.Second
	// cannotConnectNow is the SQLSTATE of a server that is starting or recovering.
	cannotConnectNow = "57P03"
)

// Config configures a server.
type Config struct {
	Dir    string       // data folder, such as data/postgres; created if missing
	BinDir string       // folder of initdb and postgres; "" searches the usual places
	Logger *slog.Logger // receives the server's log line by line; nil discards it
	Unsafe bool         // for tests: a crash of the machine may lose or damage the data
	// If Restart is set, the server is started again if it ends by itself after it has accepted
	// connections. It ends by itself on a full disk, for example.
	Restart bool
	// Settings are further settings of the server, by their names.
	Settings map[string]string
	// Replace decides whether a new cluster may take the place of a cluster that no installed
	// PostgreSQL can run. made is the version of the old cluster, and with that of the new one. If
	// Replace returns nil, the old cluster is set aside. If Replace itself is nil, the start fails.
	Replace func(made, with int) error
}

// Server is a running PostgreSQL server that belongs to this process.
type Server struct {
	folder  *folder
	command func() *exec.Cmd // returns the command that runs the server
	log     *serverLog
	restart bool          // Config.Restart
	ready   atomic.Bool   // the server has accepted connections
	stop    chan struct{} // closed by Stop
	done    chan struct{}
	err     error          // why the server ended; written before done is closed
	ended   *condition.Log // that the server has ended by itself

	started time.Time // when run last started the process

	mu  sync.Mutex
	cmd *exec.Cmd // the process that runs, or that ran last
}

// Start starts the server on the data folder and returns when the server accepts connections. The
// first start creates the database. Recovery after a crash may take long. ctx bounds the start and
// has no effect on the running server.
//
// It fails with [binaries.ErrNotInstalled] if no PostgreSQL is found, with
// [binaries.ErrOtherVersion] if the folder needs another version of PostgreSQL and Config.Replace
// does not allow a new cluster, and with [ErrInUse] if another process runs a server on the folder.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	f, err := openFolder(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s, err := startIn(ctx, f, cfg)
	if err != nil {
		f.release()
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		return nil, fmt.Errorf("start PostgreSQL: %w", errors.Join(err, s.Stop(stopCtx)))
	}
	s.ready.Store(true)
	return s, nil
}

// startIn starts the server process on a folder that this process has locked.
func startIn(ctx context.Context, f *folder, cfg Config) (*Server, error) {
	inst, err := binaries.Find(ctx, cfg.BinDir, f.cluster())
	other, replaced := errors.AsType[*binaries.OtherVersionError](err)
	if replaced && cfg.Replace != nil {
		inst = other.Newest
		if err = cfg.Replace(other.Made, inst.Major); err != nil {
			err = fmt.Errorf("%w; %w", other, err)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := f.prepare(inst); err != nil {
		return nil, err
	}
	if err := orphan.End(ctx, f.cluster()); err != nil {
		return nil, err
	}
	if replaced {
		err = f.setAside(other.Made)
	} else {
		err = f.mend()
	}
	if err != nil {
		return nil, err
	}
	if err := initCluster(ctx, f, inst, cfg.Unsafe); err != nil {
		return nil, err
	}
	if err := f.openSocket(); err != nil {
		return nil, err
	}
	return launch(ctx, f, inst, cfg)
}

func launch(
	ctx context.Context, f *folder, inst binaries.Installation, cfg Config,
) (*Server, error) {
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		folder: f, log: &serverLog{logger: logger}, restart: cfg.Restart,
		stop: make(chan struct{}), done: make(chan struct{}),
		ended: condition.New(
			logger, "PostgreSQL has ended by itself, and is started again",
			"PostgreSQL accepts connections again",
		),
	}
	s.command = func() *exec.Cmd {
		cmd := f.run(
			context.WithoutCancel(ctx), inst, "postgres", serverArgs(f, cfg)...,
		)
		cmd.Stdout, cmd.Stderr = io.Discard, s.log
		// SIGINT is PostgreSQL's fast shutdown.
		cmd.SysProcAttr = f.owner.SysProcAttr(syscall.SIGINT)
		return cmd
	}
	started := make(chan error, 1)
	go s.run(started) //nolint:gosec // the server outlives the context of its start
	if err := <-started; err != nil {
		return nil, f.owner.Explain(err)
	}
	return s, nil
}

// run starts the process and waits for its end. With Config.Restart it repeats this. It locks its
// thread for two reasons: the kernel sends the parent-death signal already when the thread that
// forked ends, and ConfineThread has confined this thread only.
func (s *Server) run(started chan<- error) {
	runtime.LockOSThread()
	err := serveruser.ConfineThread()
	if err == nil {
		err = s.startProcess()
	}
	started <- err
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reporting sync.WaitGroup
	for {
		if err == nil {
			err = s.cmd.Wait()
		}
		if s.stopping() {
			break
		}
		cause := fmt.Errorf("PostgreSQL ended by itself (%s)%s", exitText(err), s.log.tail())
		// A server that ends without an error was stopped on purpose.
		if err == nil || !s.restart || !s.ready.Load() {
			s.err = cause
			break
		}
		s.ended.Report(ctx, cause)
		if !s.pause() {
			break
		}
		if err = s.startProcess(); err == nil {
			again := s.cmd
			reporting.Go(func() { s.reportReady(ctx, again) })
		}
	}
	cancel()
	reporting.Wait()
	s.folder.release()
	close(s.done)
}

// startProcess starts the process unless Stop was called.
func (s *Server) startProcess() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping() {
		return context.Canceled
	}
	s.cmd, s.started = s.command(), time.Now()
	return s.cmd.Start()
}

// pause waits until the server may be started again. It returns false if Stop is called before.
func (s *Server) pause() bool {
	timer := time.NewTimer(restartPause - time.Since(s.started))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop:
		return false
	}
}

// reportReady reports that a server that was started again accepts connections. It gives up when
// the process is replaced, or when ctx or the server ends.
func (s *Server) reportReady(ctx context.Context, cmd *exec.Cmd) {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for s.createDatabase(ctx) != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-s.stop:
			return
		}
		if !s.running(cmd) {
			return
		}
	}
	s.ended.Report(ctx, nil)
}

// running reports whether cmd is the process that runs, or that ran last.
func (s *Server) running(cmd *exec.Cmd) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd == cmd
}

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// SetAside returns the folder of the cluster that this start has replaced, or "" if it has replaced
// none.
func (s *Server) SetAside() string { return s.folder.aside }

// DSN returns the connection URL of the database. It is valid for pgx on this machine.
func (s *Server) DSN() string { return s.dsn(name) }

func (s *Server) dsn(database string) string {
	query := url.Values{"host": {s.folder.socket}, "sslmode": {"disable"}}.Encode()
	u := url.URL{
		Scheme: "postgres", User: url.User(name), Path: "/" + database,
		// In connection URLs a plus does not stand for a space.
		RawQuery: strings.ReplaceAll(query, "+", "%20"),
	}
	return u.String()
}

// Done returns a channel that is closed when the server has ended and is not started again.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why the server ended unexpectedly, with the last lines of its log. It returns nil
// while the server runs and after [Server.Stop].
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop shuts the server down. It closes open connections and keeps everything that was committed.
// If ctx ends first, Stop requests an immediate shutdown and fails with the cause of ctx. Committed
// data is kept then too, but the next start has to recover. Stop returns nil if the server has
// ended already.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopping() {
		close(s.stop)
		s.signal(os.Interrupt)
	}
	s.mu.Unlock()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
	}
	s.signal(syscall.SIGQUIT)
	late := time.AfterFunc(quitTimeout, func() { s.signal(os.Kill) })
	defer late.Stop()
	<-s.done
	return fmt.Errorf(
		"stop PostgreSQL: shut down hard, the next start recovers: %w", context.Cause(ctx),
	)
}

// signal sends a signal to the process. It ignores the error if the process has ended, because done
// reports the end.
func (s *Server) signal(sig os.Signal) { _ = s.cmd.Process.Signal(sig) }

// awaitReady returns when the server accepts connections and the database exists.
func (s *Server) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := s.createDatabase(ctx)
		if err == nil {
			return nil
		}
		if !stillStarting(err) && ctx.Err() == nil {
			return fmt.Errorf("%w%s", err, s.log.tail())
		}
		select {
		case <-s.done:
			return s.err
		case <-ctx.Done():
			return fmt.Errorf(
				"it does not accept connections yet: %w%s", context.Cause(ctx), s.log.tail(),
			)
		case <-tick.C:
		}
	}
}

// stillStarting reports whether a connection error may be temporary.
func stillStarting(err error) bool {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code == cannotConnectNow
	}
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
}

// createDatabase creates the database of the service if it does not exist.
func (s *Server) createDatabase(ctx context.Context) (err error) {
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var exists bool
	const query = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`
	if err := conn.QueryRow(ctx, query, name).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	if _, err := conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}
