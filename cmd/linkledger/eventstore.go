package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"

	"linkledger/events/embedded"
)

// eventstoreCommand is the embedded event store apart from the service.
type eventstoreCommand struct {
	Serve  eventstoreServe  `cmd:"" default:"withargs" help:"Run the event store (the default)."`
	Stat   eventstoreStat   `cmd:"" help:"Show counts and positions."`
	Check  eventstoreCheck  `cmd:"" help:"Verify every record, every entry of the index, every stream and the counters."`
	Backup eventstoreBackup `cmd:"" help:"Take a consistent copy, also while the store runs."`
	Copy   eventstoreCopy   `cmd:"" help:"Copy the log into another event store, such as an EventStoreDB cluster; again to go on."`

	Prepare eventstorePrepare `cmd:"" help:"Grant a user of EventStoreDB what the service needs, and print what has changed."`
}

// eventstoreServe runs the embedded event store alone.
type eventstoreServe struct {
	Data           string `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen         string `help:"Address of the gRPC interface." default:"127.0.0.1:2113" validate:"address"`
	HealthListen   string `help:"Address of /health/live; by default none." placeholder:"HOST:PORT" validate:"omitempty,address"`
	TLSCertificate string `name:"tls-certificate" help:"Certificate chain in PEM; with it, clients must use TLS." placeholder:"FILE"`
	TLSKey         string `name:"tls-key" help:"Private key of the certificate, in PEM." placeholder:"FILE"`
	User           string `help:"User name demanded of every client; needs TLS." placeholder:"NAME"`
	Password       secret `help:"Password of that user; better given in the environment." placeholder:"SECRET"`
	Insecure       bool   `help:"Listen beyond this machine without a password: whoever reaches the address can read and write all events."`
	MaxAppendSize  int    `help:"Most bytes that one append may carry, up to 8388608." default:"1048576"`
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
	p.Logger.InfoContext(ctx, "event store is ready", slog.String("url", store.url()), slog.String("data", c.Data))
	if c.User == "" {
		p.Logger.WarnContext(ctx, "the event store has no password: whoever can connect to it, every user of this machine too, "+
			"can read and write all events", slog.String("listen", listener.Addr().String()))
	}
	if c.UnsafeNoSync {
		p.Logger.WarnContext(ctx, "events are not synced: a crash loses some")
	}
	if c.HealthListen == "" {
		store.wait(ctx)
		return store.stop()
	}
	health, err := listen(c.HealthListen, "health-listen")
	if err != nil {
		return errors.Join(err, store.stop())
	}
	p.Logger.InfoContext(ctx, "health is served", slog.String("url", "http://"+clientAddress(health)+"/health/live"))
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		store.wait(ctx)
		stop(nil)
	}()
	return errors.Join(serveHTTP(ctx, stop, store.healthHandler(), health, p.Logger), store.stop())
}

func (c *eventstoreServe) config(p *process) (embedded.Config, error) {
	if err := c.check(); err != nil {
		return embedded.Config{}, err
	}
	config := embedded.Config{
		Dir: c.Data, MaxAppendSize: c.MaxAppendSize, NoSync: c.UnsafeNoSync, User: c.User, Password: string(c.Password), Logger: p.Logger,
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
