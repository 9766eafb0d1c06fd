package storeserver

import (
	"context"
	"crypto/tls"
	"log/slog"

	"linkledger/events/embedded"
	"linkledger/internal/address"
	"linkledger/internal/secret"
	"linkledger/internal/usage"
)

// Config is the configuration of an event store that runs alone, as its flags give it.
type Config struct {
	Dir            string
	Listen         string
	HealthListen   string // empty for none
	TLSCertificate string // path; empty for no TLS
	TLSKey         string // path
	User           string // user name that clients must give; empty for none
	Password       secret.Text
	Insecure       bool // other machines may connect without a password
	MaxAppendSize  int  // bytes
	NoSync         bool
}

// Check refuses flags that contradict each other, and an address that other machines can reach
// without a password.
func (c Config) Check() error {
	if (c.TLSCertificate == "") != (c.TLSKey == "") {
		return usage.Errorf(
			"--tls-certificate (%s) and --tls-key (%s) go together", usage.Env("tls-certificate"),
			usage.Env("tls-key"),
		)
	}
	if (c.User == "") != (c.Password == "") {
		return usage.Errorf(
			"--user (%s) and --password (%s) go together", usage.Env("user"), usage.Env("password"),
		)
	}
	if c.User != "" && c.TLSCertificate == "" {
		return usage.Errorf("--user (%s) needs --tls-certificate (%s): clients send a password "+
			"over TLS only", usage.Env("user"), usage.Env("tls-certificate"))
	}
	if err := c.checkReach(c.Listen); err != nil {
		return err
	}
	if c.MaxAppendSize < 1 || c.MaxAppendSize > embedded.LargestAppendSize {
		return usage.Errorf(
			"--max-append-size (%s) goes from 1 to %d", usage.Env("max-append-size"),
			embedded.LargestAppendSize,
		)
	}
	return nil
}

// checkReach refuses an address that other machines can reach without a password.
func (c Config) checkReach(listen string) error {
	if c.User != "" || c.Insecure {
		return nil
	}
	local, err := address.OnLoopback(context.Background(), listen)
	if err != nil {
		return usage.Errorf(
			"cannot determine who reaches %s, the address of --listen (%s): %w", listen,
			usage.Env("listen"), err,
		)
	}
	if !local {
		return usage.Errorf("other machines reach %s, the address of --listen (%s): give "+
			"--tls-certificate (%s), --tls-key, --user and --password, or --insecure (%s), which "+
			"lets them read and write all events",
			listen, usage.Env("listen"), usage.Env("tls-certificate"), usage.Env("insecure"))
	}
	return nil
}

// embedded returns the configuration of the store itself.
func (c Config) embedded(logger *slog.Logger) (embedded.Config, error) {
	store := embedded.Config{
		Dir: c.Dir, MaxAppendSize: c.MaxAppendSize, NoSync: c.NoSync, User: c.User,
		Password: string(c.Password), Logger: logger,
	}
	if c.TLSCertificate == "" {
		return store, nil
	}
	pair, err := readCertificate(c.TLSCertificate, c.TLSKey, logger)
	if err != nil {
		return store, usage.Errorf("cannot use the TLS certificate: %w", err)
	}
	store.TLS = &tls.Config{
		GetCertificate: pair.current, MinVersion: tls.VersionTLS12,
	}
	return store, nil
}
