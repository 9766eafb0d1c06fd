package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/audit"
	"linkledger/commands/destination"
	"linkledger/commands/linkquota"
	"linkledger/commands/people"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/internal/usage"
	"linkledger/queries"
)

// LogConfig is the configuration of a Log.
type LogConfig struct {
	Store *eventstore.Store
	// Keys has the keys of accounts and people, which encrypt notes and details in the log.
	Keys streams.SealingKeys
	// Seal is true if there is a master key. Without a master key, notes are written in plain text,
	// no person can sign in and nothing is erased.
	Seal bool
	// Identities is the key of the hashes of identities. If nil, no person can be recorded.
	Identities []byte
	// Existing counts the links of an account in the read models, for accounts with limits.
	Existing     ExistingLinks
	Destinations destination.Rules
	Now          func() time.Time // nil: time.Now
	Logger       *slog.Logger
}

// ExistingLinks counts the links of an account, in total and in the month of now.
type ExistingLinks = func(
	ctx context.Context, account string, now time.Time,
) (linkquota.Existing, error)

// Log has the parts that write and read the log. They need read models only for the limits of
// accounts.
type Log struct {
	Streams  *streams.Streams
	Commands *commands.Handler
	Accounts *accounts.Accounts
	People   *people.People
	Audit    *audit.Reader
}

// NewLog returns the parts that write and read the log.
func NewLog(cfg LogConfig) *Log {
	written := streams.New(streams.Config{
		Store: cfg.Store, Now: cfg.Now, Keys: cfg.Keys, Seal: cfg.Seal,
	})
	var erasable streams.SealingKeys
	if cfg.Seal {
		erasable = cfg.Keys
	}
	return &Log{
		Streams: written,
		Commands: commands.NewHandler(commands.Config{
			Streams: written, Logger: cfg.Logger, Destinations: cfg.Destinations,
			Quotas: linkquota.New(linkquota.Config{
				Store: cfg.Store, Existing: cfg.Existing, Now: cfg.Now,
			}),
		}),
		Accounts: accounts.New(written, erasable),
		People:   people.New(written, erasable, cfg.Identities),
		Audit:    audit.New(written, cfg.Store, cfg.Logger),
	}
}

// Existing returns a function that counts links in the read models.
func Existing(of *queries.DB) ExistingLinks {
	return func(
		ctx context.Context, account string, now time.Time,
	) (linkquota.Existing, error) {
		found, err := of.LinkTotals(ctx, account, now)
		return linkquota.Existing(found), err
	}
}

// Destinations returns the rules for the destinations of links. baseURL is the address of the short
// links, and blocklist a file of hosts. Either may be empty.
func Destinations(
	baseURL, blocklist string, logger *slog.Logger,
) (rules destination.Rules, err error) {
	if baseURL != "" {
		short, err := destination.ShortHost(baseURL)
		if err != nil {
			return rules, fmt.Errorf("base URL %q: %w", baseURL, err)
		}
		rules.ShortHosts = append(rules.ShortHosts, short)
	}
	if blocklist != "" {
		list, err := destination.ReadBlocklist(blocklist, logger)
		if err != nil {
			return rules, usage.Errorf(
				"%w; name another file with --blocked-hosts (%s)", err, usage.Env("blocked-hosts"),
			)
		}
		rules.Blocked = list.Blocks
	}
	return rules, nil
}
