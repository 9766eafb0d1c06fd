package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"

	"linkledger/events/embedded"
)

// eventstoreCommand is the embedded event store apart from the service.
type eventstoreCommand struct {
	Serve  eventstoreServe  `cmd:"" default:"withargs" help:"Run the event store (the default)."`
	Stat   eventstoreStat   `cmd:"" help:"Show counts and positions."`
	Check  eventstoreCheck  `cmd:"" help:"Verify every record, every entry of the index, every stream and the counters."`
	Backup eventstoreBackup `cmd:"" help:"Take a consistent copy, also while the store runs."`
	Copy   eventstoreCopy   `cmd:"" help:"Copy the log into another event store, such as an EventStoreDB cluster. A repeated call continues."`

	Prepare eventstorePrepare `cmd:"" help:"Grant a user of EventStoreDB the rights that the service needs, and print what changed."`
}

// eventstoreServe runs the embedded event store alone.
type eventstoreServe struct {
	Data           string `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen         string `help:"Address of the gRPC interface." default:"127.0.0.1:2113" validate:"address"`
	HealthListen   string `help:"Address of /health/live. By default none." placeholder:"HOST:PORT" validate:"omitempty,address"`
	TLSCertificate string `name:"tls-certificate" help:"Certificate chain in PEM. With it clients must use TLS." placeholder:"FILE"`
	TLSKey         string `name:"tls-key" help:"Private key of the certificate, in PEM." placeholder:"FILE"`
	User           string `help:"User name that every client must give. It needs TLS." placeholder:"NAME"`
	Password       secret `help:"Password of that user. Give it in the environment or as a file." placeholder:"SECRET"`
	Insecure       bool   `help:"Listen beyond this machine without a password. All who reach the address can read and write all events."`
	MaxAppendSize  int    `help:"Largest append, in bytes, up to 8388608." default:"1048576"`
	UnsafeNoSync   bool   `help:"Acknowledge events that a crash may lose. For benchmarks only."`
}

// Run implements the command.
func (c *eventstoreServe) Run(ctx context.Context, p *process) error {
	config, err := c.config(p)
	if err != nil {
		return err
	}
	listener, err := listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	if err := c.checkReach(listener.Addr().String()); err != nil { // a name may stand for another address by now
		return errors.Join(err, listener.Close())
	}
	store, err := startEventStore(ctx, config, listener)
	if err != nil {
		return err
	}
	p.logger.InfoContext(ctx, "event store is ready", slog.String("url", store.url()), slog.String("data", c.Data))
	if c.User == "" {
		p.logger.WarnContext(ctx, "the event store has no password: whoever can connect to it, every user of this machine too, "+
			"can read and write all events", slog.String("listen", listener.Addr().String()))
	}
	if c.UnsafeNoSync {
		p.logger.WarnContext(ctx, "events are not synced: a crash loses some")
	}
	if c.HealthListen == "" {
		store.wait(ctx)
		return store.stop()
	}
	health, err := listen(c.HealthListen, "health-listen")
	if err != nil {
		return errors.Join(err, store.stop())
	}
	p.logger.InfoContext(ctx, "health is served", slog.String("url", "http://"+clientAddress(health)+"/health/live"))
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		store.wait(ctx)
		stop(nil)
	}()
	return errors.Join(serveHTTP(ctx, stop, store.healthHandler(), health, p.logger), store.stop())
}

// healthHandler answers as EventStoreDB does: 204 while the store takes writes, else 503.
func (r *runningStore) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		if r.store.Stat().Failure != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// wait returns when ctx ends or the store does.
func (r *runningStore) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-r.ended:
	}
}

func (c *eventstoreServe) config(p *process) (embedded.Config, error) {
	if err := c.check(); err != nil {
		return embedded.Config{}, err
	}
	config := embedded.Config{
		Dir: c.Data, MaxAppendSize: c.MaxAppendSize, NoSync: c.UnsafeNoSync, User: c.User, Password: string(c.Password), Logger: p.logger,
	}
	if c.TLSCertificate == "" {
		return config, nil
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCertificate, c.TLSKey)
	if err != nil {
		return config, usage("cannot use the TLS certificate: %w", err)
	}
	config.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return config, nil
}

func (c *eventstoreServe) check() error {
	if err := validate(c); err != nil {
		return err
	}
	if (c.TLSCertificate == "") != (c.TLSKey == "") {
		return usage("--tls-certificate (%s) and --tls-key (%s) go together", envName("tls-certificate"), envName("tls-key"))
	}
	if (c.User == "") != (c.Password == "") {
		return usage("--user (%s) and --password (%s) go together", envName("user"), envName("password"))
	}
	if c.User != "" && c.TLSCertificate == "" {
		return usage("--user (%s) needs --tls-certificate (%s): clients send a password over TLS only",
			envName("user"), envName("tls-certificate"))
	}
	if err := c.checkReach(c.Listen); err != nil {
		return err
	}
	if c.MaxAppendSize < 1 || c.MaxAppendSize > embedded.LargestAppendSize {
		return usage("--max-append-size (%s) goes from 1 to %d", envName("max-append-size"), embedded.LargestAppendSize)
	}
	return nil
}

// checkReach refuses to let other machines in without a password.
func (c *eventstoreServe) checkReach(address string) error {
	if c.User != "" || c.Insecure {
		return nil
	}
	local, err := onLoopback(context.Background(), address)
	if err != nil {
		return usage("cannot tell who reaches %s, the address of --listen (%s): %w", address, envName("listen"), err)
	}
	if !local {
		return usage("other machines reach %s, the address of --listen (%s): give --tls-certificate (%s), --tls-key, --user and "+
			"--password, or --insecure (%s), which lets everybody read and write all events",
			address, envName("listen"), envName("tls-certificate"), envName("insecure"))
	}
	return nil
}

// runningStore is an embedded event store that serves.
type runningStore struct {
	store    *embedded.Store
	listener net.Listener
	secure   bool
	admin    *storeAdmin
	ended    chan struct{} // closed when serving has ended
	err      error         // why; valid once ended is closed
}

func startEventStore(ctx context.Context, config embedded.Config, listener net.Listener) (*runningStore, error) {
	store, err := embedded.Open(config)
	if err != nil {
		return nil, usageError{errors.Join(err, listener.Close())}
	}
	if err := closeToOthers(config.Dir); err != nil {
		config.Logger.WarnContext(ctx, "other users of the machine can enter the folder of the event store", slog.Any("error", err))
	}
	r := &runningStore{store: store, listener: listener, secure: config.TLS != nil, ended: make(chan struct{})}
	if r.admin, err = serveStoreAdmin(ctx, store, config.Dir); err != nil {
		config.Logger.WarnContext(ctx, "stat, check and backup must wait until the event store is stopped", slog.Any("error", err))
	}
	go func() {
		defer close(r.ended)
		r.err = store.Serve(listener)
	}()
	return r, nil
}

// closeToOthers takes from the folder of a store what users may do that are neither its owner nor of its group. A new one is
// made closed.
func closeToOthers(folder string) error {
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return os.Chmod(folder, info.Mode()&^0o007)
}

func (r *runningStore) url() string {
	security := "?tls=false"
	if r.secure {
		security = "?tls=true"
	}
	return "esdb://" + clientAddress(r.listener) + security
}

func (r *runningStore) stop() error {
	err := r.store.Close()
	<-r.ended
	r.admin.stop()
	if errors.Is(r.err, embedded.ErrClosed) { // closed before it served
		return err
	}
	return errors.Join(r.err, err)
}
