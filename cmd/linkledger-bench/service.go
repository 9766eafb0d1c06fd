package main

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

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/status"
	"linkledger/projections/readmodel"
)

// service is a running linkledger dev.
type service struct {
	*child
	folder string
	base   string  // URL
	lister account // has many links
	client account // creates its own
	owner  account // of the links that are visited in an outage
	last   uint64  // commit position of the last of the many
	where
	store *eventstore.Store
	db    *readmodel.DB
}

// where are the connection strings of a running dev, as it writes them for operator commands.
type where struct {
	EventStore string `json:"eventstore"`
	Database   string `json:"database"`
}

const (
	// settlePatience bounds the wait for the links.
	settlePatience = 5 * time.Minute
	// poll is the pause between two looks at what the program is to get done.
	poll = 200 * time.Millisecond
)

// account is as the program prints it.
type account struct {
	ID  string `json:"id"`
	Key string `json:"api_key"`

	username string
}

var baseLine = regexp.MustCompile(`(?m)^  API +(\S+)/v3$`)

// startService makes a log of many links and runs everything on it. It is started twice, lest its memory be what catching
// up took.
func (b *bench) startService(ctx context.Context) (*service, error) {
	s := &service{folder: b.path("data")}
	if err := b.fill(ctx, s); err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	args := []string{
		"dev", "--data", s.folder, "--log-level", "warn",
		"--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--eventstore-listen", "127.0.0.1:0",
	}
	first, err := start(ctx, "Ctrl-C stops", b.program, args...)
	if err != nil {
		return nil, err
	}
	if err := first.stop(); err != nil {
		return nil, err
	}
	if s.child, err = start(ctx, "Ctrl-C stops", b.program, args...); err != nil {
		return nil, err
	}
	s.base = baseLine.FindStringSubmatch(s.greeting)[1]
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(err, s.child.stop())
	}
	return s, nil
}

func (s *service) connect(ctx context.Context) error {
	running, err := os.ReadFile(filepath.Join(s.folder, "running.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(running, &s.where); err != nil {
		return err
	}
	if s.store, err = eventstore.Open(eventstore.Config{URL: s.EventStore}); err != nil {
		return err
	}
	if s.db, err = readmodel.Open(ctx, s.Database, 1); err != nil {
		s.store.Close()
	}
	return err
}

func (s *service) stop() error {
	s.store.Close()
	return errors.Join(s.db.Close(), s.child.stop())
}

// settle waits until the links have all that is in the log. The dimensions take a tenth of the time at most, whoever's turn
// it is, and need not be waited for.
func (s *service) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settlePatience, fmt.Errorf("the links lag for %s", settlePatience))
	defer cancel()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		all, err := projections.Overviews(ctx, s.db, s.store)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, lagging) {
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

// fill opens the accounts and appends the creations of one's links.
func (b *bench) fill(ctx context.Context, s *service) (err error) {
	c, url, err := b.startStore(ctx, filepath.Join(s.folder, "events"), "--unsafe-no-sync") // it is not measured
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if s.lister, err = b.openAccount(ctx, "lister", url); err != nil {
		return err
	}
	if s.client, err = b.openAccount(ctx, "client", url); err != nil {
		return err
	}
	if s.owner, err = b.openAccount(ctx, "owner", url); err != nil {
		return err
	}
	store, err := eventstore.Open(eventstore.Config{URL: url})
	if err != nil {
		return err
	}
	defer store.Close()
	var next atomic.Int64
	all, writing := errgroup.WithContext(ctx)
	for range appendCallers {
		all.Go(func() error {
			for n := next.Add(1); n <= int64(b.links); n = next.Add(1) {
				if _, err := store.Append(writing, creation(s.lister.ID, n)); err != nil {
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
	s.last = head.Commit
	return err
}

// creation is the beginning of a link's stream. Its hash is claimed by nobody, which no read model asks for.
func creation(account string, n int64) eventstore.Write {
	id := uuid.Must(uuid.NewV7()).String()
	return eventstore.Write{
		Stream: events.StreamURL + id, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.URLCreated{
			URLID: id, Account: account, Hash: fmt.Sprintf("listed-%d", n), Note: "a note", At: time.Now().UTC(),
			LongURL: fmt.Sprintf("https://example.com/articles/%d?utm_source=newsletter", n),
		}},
	}
}

func (b *bench) openAccount(ctx context.Context, username, store string) (account, error) {
	out, err := b.command(ctx, "account", "create", "--username", username, "--eventstore", store, "--json").Output()
	if err != nil {
		return account{}, fmt.Errorf("open an account: %w", outputOf(err))
	}
	opened := account{username: username}
	return opened, json.Unmarshal(out, &opened)
}

// versions of the program and of its PostgreSQL.
func (s *service) versions(ctx context.Context) (program, postgres string, err error) {
	out, err := exec.CommandContext(ctx, s.command.Path, "--version").Output() //nolint:gosec // the program that is asked for
	if err != nil {
		return "", "", err
	}
	err = s.db.NewRaw("SHOW server_version").Scan(ctx, &postgres)
	return strings.TrimSpace(string(out)), postgres, err
}

// command is a command of the program that ends by itself.
func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, b.program, args...) //nolint:gosec // the program that is asked for
}

// outputOf adds to the error of a command what it said.
func outputOf(err error) error {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(ended.Stderr)))
	}
	return err
}
