// Package installation runs the program that is measured: either linkledger dev on a log of many
// links, or the event store alone. It can put a slow network in front of the event store.
package installation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"linkledger/cmd/linkledger-bench/internal/caller"
	"linkledger/cmd/linkledger-bench/internal/child"
	"linkledger/commands/access"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// Service is a running linkledger dev.
type Service struct {
	*child.Process
	Folder string
	Base   string         // URL
	Lister caller.Account // has many links
	Client caller.Account // has no links before the measurement
	// Creators are the accounts that create links: Size.Accounts accounts, each listed once per
	// key. If Size.Accounts is 1, the only one is Client.
	Creators []caller.Account
	Owner    caller.Account // of the links that are visited in an outage
	Last     uint64         // commit position of the last event before the start
	where
	Store *eventstore.Store
	db    *readmodel.DB
}

// Size is how much an installation has before it is measured.
type Size struct {
	Links    int // of the lister
	Accounts int // that create links
	Keys     int // of each of these accounts
}

// where are the connection strings of a running dev, as it writes them for operator commands.
type where struct {
	EventStore string `json:"eventstore"`
	Database   string `json:"database"`
}

const (
	// settleTimeout bounds the wait for the projections.
	settleTimeout = 5 * time.Minute
	// writers is the number of concurrent appends of links.
	writers = 64
	// settlePoll is the pause between two checks of the projections.
	settlePoll = 200 * time.Millisecond
)

var baseLine = regexp.MustCompile(`(?m)^  API +(\S+)/v3$`)

// Start creates a log of many links and runs linkledger dev on it. It starts the program twice, so
// that the second process, which is measured, takes no memory to catch up with the log.
func Start(ctx context.Context, program, folder string, size Size) (*Service, error) {
	s := &Service{Folder: folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := s.fill(ctx, program, size); err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	args := []string{
		"dev", "--data", s.Folder, "--log-level", "warn",
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--eventstore-listen",
		"127.0.0.1:0",
	}
	first, err := child.Start(ctx, "Ctrl-C stops", program, args...)
	if err != nil {
		return nil, err
	}
	if err := first.Stop(); err != nil {
		return nil, err
	}
	if s.Process, err = child.Start(ctx, "Ctrl-C stops", program, args...); err != nil {
		return nil, err
	}
	s.Base = baseLine.FindStringSubmatch(s.Greeting)[1]
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.Process.Stop())
	}
	if err := s.settle(ctx, func(p status.Overview) bool { return p.LagEvents > 0 }); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	// Otherwise PostgreSQL might vacuum the many new rows by itself, in the middle of a
	// measurement.
	if _, err := s.db.Pool.Exec(ctx, "VACUUM (ANALYZE)"); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Service) connect(ctx context.Context) error {
	running, err := os.ReadFile(filepath.Join(s.Folder, "running.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(running, &s.where); err != nil {
		return err
	}
	if s.Store, err = eventstore.Open(eventstore.Config{URL: s.EventStore}); err != nil {
		return err
	}
	if s.db, err = readmodel.Open(ctx, s.Database, 1); err != nil {
		s.Store.Close()
	}
	return err
}

// Stop ends the program and closes the connections to it.
func (s *Service) Stop() error {
	s.Store.Close()
	return errors.Join(s.db.Close(), s.Process.Stop())
}

// Settle waits until the projection of links has applied the whole log. It does not wait for the
// projection of dimensions, because that projection works for at most a tenth of the time, and so
// slows down all turns alike.
func (s *Service) Settle(ctx context.Context) error { return s.settle(ctx, lagging) }

// settle waits until behind returns false for each projection.
func (s *Service) settle(ctx context.Context, behind func(status.Overview) bool) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx, settleTimeout, fmt.Errorf("projections lag for %s", settleTimeout),
	)
	defer cancel()
	again := time.NewTicker(settlePoll)
	defer again.Stop()
	for {
		all, err := status.Overviews(ctx, projections.All(), s.db, s.Store)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, behind) {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func lagging(p status.Overview) bool { return p.Name == projections.Links && p.LagEvents > 0 }

// fill opens the accounts and appends the events that create the links of the lister.
func (s *Service) fill(ctx context.Context, program string, size Size) (err error) {
	// Filling is not measured, so it need not sync.
	c, url, err := StartStore(ctx, program, filepath.Join(s.Folder, "events"), "--unsafe-no-sync")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if s.Lister, err = openAccount(ctx, program, "lister", url); err != nil {
		return err
	}
	if s.Client, err = openAccount(ctx, program, "client", url); err != nil {
		return err
	}
	if s.Owner, err = openAccount(ctx, program, "owner", url); err != nil {
		return err
	}
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		return err
	}
	defer store.Close()
	s.Creators = []caller.Account{s.Client}
	var more []eventstore.Write
	if size.Accounts > 1 {
		more, s.Creators = creators(size)
	}
	var next atomic.Int64
	all, writing := errgroup.WithContext(ctx)
	for range writers {
		all.Go(func() error {
			for n := next.Add(1); n <= int64(size.Links+len(more)); n = next.Add(1) {
				write := creation(s.Lister.ID, n)
				if n > int64(size.Links) {
					write = more[n-int64(size.Links)-1]
				}
				if _, err := store.Append(writing, write); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	head, err := store.Head(ctx)
	s.Last = head.Commit
	return err
}

// creators returns the accounts and the writes that open them with several keys. Each account is
// returned once per key.
func creators(size Size) (writes []eventstore.Write, all []caller.Account) {
	for n := range size.Accounts {
		account := caller.Account{
			ID: uuid.Must(uuid.NewV7()).String(), Username: fmt.Sprintf("creator-%d", n),
		}
		var opening []events.Event
		for k := range size.Keys {
			account.Key = fmt.Sprintf("lk_%d_%d", n, k)
			all = append(all, account)
			id, hash := fmt.Sprint("key", k), access.HashKey(account.Key)
			if k == 0 {
				opening = append(opening, events.AccountOpened{
					Account: account.ID, Username: account.Username, Plan: "free", KeyID: id,
					KeyHash: hash, At: time.Now().UTC(),
				})
				continue
			}
			opening = append(
				opening, events.KeyAdded{KeyID: id, KeyHash: hash, At: time.Now().UTC()},
			)
		}
		writes = append(writes, eventstore.Write{
			Stream: events.StreamAccount + account.ID, Expected: eventstore.NoStream,
			Command: uuid.New(), Events: opening,
		})
	}
	return writes, all
}

// creation returns the first event of a link's stream. No event claims the hash of the link,
// because no read model needs a claim.
func creation(account string, n int64) eventstore.Write {
	id := uuid.Must(uuid.NewV7()).String()
	return eventstore.Write{
		Stream: events.StreamURL + id, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.URLCreated{
			URLID: id, Account: account, Hash: fmt.Sprintf("listed-%d", n), Note: "a note",
			At:      time.Now().UTC(),
			LongURL: fmt.Sprintf("https://example.com/articles/%d?utm_source=newsletter", n),
		}},
	}
}

func openAccount(ctx context.Context, program, username, store string) (caller.Account, error) {
	out, err := ProgramCommand(
		ctx, program, "account", "create", "--username", username, "--eventstore", store, "--json",
	).Output()
	if err != nil {
		return caller.Account{}, fmt.Errorf("open an account: %w", OutputOf(err))
	}
	opened := caller.Account{Username: username}
	return opened, json.Unmarshal(out, &opened)
}

// Versions returns the versions of the program and of its PostgreSQL.
func (s *Service) Versions(ctx context.Context) (program, postgres string, err error) {
	//nolint:gosec // the program that is asked for
	out, err := exec.CommandContext(ctx, s.Command.Path, "--version").Output()
	if err != nil {
		return "", "", err
	}
	err = s.db.NewRaw("SHOW server_version").Scan(ctx, &postgres)
	return strings.TrimSpace(string(out)), postgres, err
}

// ProgramCommand returns a command of the program that ends by itself.
func ProgramCommand(ctx context.Context, program string, args ...string) *exec.Cmd {
	//nolint:gosec // the program that is asked for
	return exec.CommandContext(ctx, program, args...)
}

// OutputOf adds the stderr output of a command to its error.
func OutputOf(err error) error {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
	}
	return err
}

var storeReady = regexp.MustCompile(`msg="event store is ready" url="([^"]+)"`)

// StartStore runs the embedded event store alone and returns its connection string.
func StartStore(
	ctx context.Context, program, folder string, flags ...string,
) (c *child.Process, url string, err error) {
	args := append([]string{"eventstore", "--data", folder, "--listen", "127.0.0.1:0"}, flags...)
	if c, err = child.Start(ctx, "event store is ready", program, args...); err != nil {
		return nil, "", err
	}
	return c, storeReady.FindStringSubmatch(c.Greeting)[1], nil
}
