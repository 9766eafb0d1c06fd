package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/config"
	"linkledger/internal/secret"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
)

// eventstoreCommand groups the commands of the event store.
type eventstoreCommand struct {
	Serve  eventstoreServe  `cmd:"" default:"withargs" help:"Run the event store (the default)."`
	Stat   eventstoreStat   `cmd:"" help:"Show counts and positions."`
	Check  eventstoreCheck  `cmd:"" help:"Verify all records, index entries, streams and counters."`
	Backup eventstoreBackup `cmd:"" help:"Take a consistent copy, also while the store runs."`
	Copy   eventstoreCopy   `cmd:"" help:"${copy_command}"`

	Prepare eventstorePrepare `cmd:"" help:"${prepare_command}"`
}

// defaultEvents is the default folder of the log.
const defaultEvents = "./data/events"

// makeDefaultFolder creates the parent of folder if folder is the default one. It creates no other
// parent, because a parent may be missing only because its disk is not mounted. The data would then
// be written to another disk.
func makeDefaultFolder(folder, byDefault string) error {
	if folder != byDefault {
		return nil
	}
	//nolint:gosec // the folders within it protect their own secrets
	if err := os.Mkdir(filepath.Dir(folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return usage.Errorf("cannot make the folder of the data: %w", err)
	}
	return nil
}

// eventstoreServe runs the embedded event store alone.
type eventstoreServe struct {
	Data         string `help:"Folder of the log." default:"./data/events" validate:"required"`
	Listen       string `help:"Address for gRPC." default:"127.0.0.1:2113" validate:"address"`
	HealthListen string `help:"${health}" placeholder:"HOST:PORT" validate:"omitempty,address"`

	TLSCertificate string `help:"${tls_certificate}" placeholder:"FILE"`
	TLSKey         string `help:"Private key of the certificate, in PEM." placeholder:"FILE"`

	User     string      `help:"User name that clients must give. It needs TLS." placeholder:"NAME"`
	Password secret.Text `help:"${password}" placeholder:"SECRET"`

	Insecure      bool `help:"${insecure}"`
	MaxAppendSize int  `help:"Largest append, in bytes, up to 8388608." default:"1048576"`
	UnsafeNoSync  bool `help:"Acknowledge events that a crash may lose. For benchmarks only."`
}

// Run serves the event store until ctx ends.
func (c *eventstoreServe) Run(ctx context.Context, p *command.Process) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := makeDefaultFolder(c.Data, defaultEvents); err != nil {
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
