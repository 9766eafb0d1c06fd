package main

import (
	"context"
	"crypto/tls"
	"errors"

	"linkledger/events/embedded"
	"linkledger/internal/address"
	"linkledger/internal/config"
	"linkledger/internal/secret"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
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
	Data           string      `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen         string      `help:"Address of the gRPC interface." default:"127.0.0.1:2113" validate:"address"`
	HealthListen   string      `help:"Address of /health/live; by default none." placeholder:"HOST:PORT" validate:"omitempty,address"`
	TLSCertificate string      `name:"tls-certificate" help:"Certificate chain in PEM; with it, clients must use TLS." placeholder:"FILE"`
	TLSKey         string      `name:"tls-key" help:"Private key of the certificate, in PEM." placeholder:"FILE"`
	User           string      `help:"User name demanded of every client; needs TLS." placeholder:"NAME"`
	Password       secret.Text `help:"Password of that user; better given in the environment." placeholder:"SECRET"`
	Insecure       bool        `help:"Listen beyond this machine without a password: whoever reaches the address can read and write all events."`
	MaxAppendSize  int         `help:"Most bytes that one append may carry, up to 8388608." default:"1048576"`
	UnsafeNoSync   bool        `help:"Acknowledge events that a crash may lose. For benchmarks only."`
}

// Run implements the command.
func (c *eventstoreServe) Run(ctx context.Context, p *process) error {
	cfg, err := c.config(p)
	if err != nil {
		return err
	}
	listener, err := address.Listen(c.Listen, "listen")
	if err != nil {
		return err
	}
	if err := c.checkReach(listener.Addr().String()); err != nil { // a name may stand for another address by now
		return errors.Join(err, listener.Close())
	}
	return storeserver.Run(ctx, cfg, listener, c.HealthListen)
}

func (c *eventstoreServe) config(p *process) (embedded.Config, error) {
	if err := c.check(); err != nil {
		return embedded.Config{}, err
	}
	cfg := embedded.Config{
		Dir: c.Data, MaxAppendSize: c.MaxAppendSize, NoSync: c.UnsafeNoSync, User: c.User, Password: string(c.Password), Logger: p.Logger,
	}
	if c.TLSCertificate == "" {
		return cfg, nil
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCertificate, c.TLSKey)
	if err != nil {
		return cfg, usage.Errorf("cannot use the TLS certificate: %w", err)
	}
	cfg.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return cfg, nil
}

func (c *eventstoreServe) check() error {
	if err := config.Validate(c); err != nil {
		return err
	}
	if (c.TLSCertificate == "") != (c.TLSKey == "") {
		return usage.Errorf("--tls-certificate (%s) and --tls-key (%s) go together", usage.Env("tls-certificate"), usage.Env("tls-key"))
	}
	if (c.User == "") != (c.Password == "") {
		return usage.Errorf("--user (%s) and --password (%s) go together", usage.Env("user"), usage.Env("password"))
	}
	if c.User != "" && c.TLSCertificate == "" {
		return usage.Errorf("--user (%s) needs --tls-certificate (%s): clients send a password over TLS only",
			usage.Env("user"), usage.Env("tls-certificate"))
	}
	if err := c.checkReach(c.Listen); err != nil {
		return err
	}
	if c.MaxAppendSize < 1 || c.MaxAppendSize > embedded.LargestAppendSize {
		return usage.Errorf("--max-append-size (%s) goes from 1 to %d", usage.Env("max-append-size"), embedded.LargestAppendSize)
	}
	return nil
}

// checkReach refuses to let other machines in without a password.
func (c *eventstoreServe) checkReach(listen string) error {
	if c.User != "" || c.Insecure {
		return nil
	}
	local, err := address.OnLoopback(context.Background(), listen)
	if err != nil {
		return usage.Errorf("cannot tell who reaches %s, the address of --listen (%s): %w", listen, usage.Env("listen"), err)
	}
	if !local {
		return usage.Errorf("other machines reach %s, the address of --listen (%s): give --tls-certificate (%s), --tls-key, --user and "+
			"--password, or --insecure (%s), which lets everybody read and write all events",
			listen, usage.Env("listen"), usage.Env("tls-certificate"), usage.Env("insecure"))
	}
	return nil
}
