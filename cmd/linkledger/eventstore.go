package main

import (
	"context"

	"linkledger/internal/config"
	"linkledger/internal/secret"
	"linkledger/internal/storeserver"
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
	Data           string      `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen         string      `help:"Address of the gRPC interface." default:"127.0.0.1:2113" validate:"address"`
	HealthListen   string      `help:"Address of /health/live. By default none." placeholder:"HOST:PORT" validate:"omitempty,address"`
	TLSCertificate string      `name:"tls-certificate" help:"Certificate chain in PEM. With it clients must use TLS." placeholder:"FILE"`
	TLSKey         string      `name:"tls-key" help:"Private key of the certificate, in PEM." placeholder:"FILE"`
	User           string      `help:"User name that every client must give. It needs TLS." placeholder:"NAME"`
	Password       secret.Text `help:"Password of that user. Give it in the environment or as a file." placeholder:"SECRET"`
	Insecure       bool        `help:"Listen beyond this machine without a password. All who reach the address can read and write all events."`
	MaxAppendSize  int         `help:"Largest append, in bytes, up to 8388608." default:"1048576"`
	UnsafeNoSync   bool        `help:"Acknowledge events that a crash may lose. For benchmarks only."`
}

// Run implements the command.
func (c *eventstoreServe) Run(ctx context.Context, p *process) error {
	if err := c.check(); err != nil {
		return err
	}
	return storeserver.Run(ctx, c.config(), p.Logger)
}

func (c *eventstoreServe) check() error {
	if err := config.Validate(c); err != nil {
		return err
	}
	return c.config().Check()
}

func (c *eventstoreServe) config() storeserver.Config {
	return storeserver.Config{
		Dir: c.Data, Listen: c.Listen, HealthListen: c.HealthListen,
		TLSCertificate: c.TLSCertificate, TLSKey: c.TLSKey,
		User: c.User, Password: c.Password, Insecure: c.Insecure, MaxAppendSize: c.MaxAppendSize,
		NoSync: c.UnsafeNoSync,
	}
}
