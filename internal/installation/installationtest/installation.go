// Package installationtest gives tests of operator commands an installation: an event store, a
// database and projections that run, all in the process of the test.
package installationtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/commands"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/people"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/installation"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/secret"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/readmodel"
)

// CreateURL is a link that is to be created.
type CreateURL = commands.CreateURL

// Timeout bounds each wait of a test.
const Timeout = time.Minute

// Main runs the tests of a package. It MUST be called by TestMain.
func Main(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// Installation is an installation with the account acme.
type Installation struct {
	Events   *eventstoretest.Server
	Store    *eventstore.Store
	DB       *readmodel.DB
	Accounts *accounts.Accounts
	People   *people.People
	Links    *commands.Handler
	Acme     accounts.Outcome
	Backends installation.Installation
	// StopProjections ends the projections. The end of the test does so too.
	StopProjections func()

	t testing.TB
}

var master = bytes.Repeat([]byte("m"), keyfile.MasterKeySize)

// New starts an installation until the test ends. Its projections set aside the events that they
// cannot apply.
func New(t testing.TB) *Installation {
	t.Helper()
	return NewOn(t, eventstoretest.Serve(t))
}

// NewOn is like New, on a given event store.
func NewOn(t testing.TB, server *eventstoretest.Server) *Installation {
	t.Helper()
	i := &Installation{Events: server, t: t}
	url := prepared.NewDatabase(t)
	i.Backends.Eventstore = secret.Connection(i.Events.URL())
	i.Backends.Database = secret.Connection(url)
	i.Backends.MasterKey = secret.Text(base64.StdEncoding.EncodeToString(master))
	i.Store = eventstoretest.Open(t, i.Events.URL())
	var err error
	if i.DB, err = readmodel.Open(WithTimeout(t), url, 8); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.DB.Close() })
	if i.DB.Keys.Master, err = keyfile.NewMasterKey(master, nil); err != nil {
		t.Fatal(err)
	}
	written := streams.New(streams.Config{Store: i.Store, Keys: i.DB.Keys, Seal: true})
	i.Accounts = accounts.New(written, i.DB.Keys)
	i.People = people.New(written, i.DB.Keys, []byte("identities"))
	i.Links = commands.NewHandler(commands.Config{Streams: written})
	i.project()
	i.Acme = i.Open("acme")
	return i
}

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(projections.Prepare(ctx, db), db.Keys.Create(ctx), db.Close())
})

func (i *Installation) project() {
	ctx, stop := context.WithCancel(context.WithoutCancel(i.t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- engine.Run(ctx, projections.All(), engine.Config{
			DB: i.DB, Store: i.Store, RetryInterval: time.Hour,
		})
	}()
	i.StopProjections = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			i.t.Errorf("projections: %v", err)
		}
	})
	i.t.Cleanup(i.StopProjections)
}

// WithTimeout returns a context that bounds how long a test waits.
func WithTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// AwaitLevel waits until all projections have all events of the log.
func (i *Installation) AwaitLevel() {
	i.t.Helper()
	ctx := WithTimeout(i.t)
	head, err := i.Store.Head(ctx)
	for _, name := range projections.Names() {
		err = errors.Join(err, projections.Await(ctx, i.DB, i.Store, name, head))
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

// Open opens an account.
func (i *Installation) Open(username string) accounts.Outcome {
	i.t.Helper()
	opened, err := i.Accounts.Open(WithTimeout(i.t), installation.NewRequest(), username, "free")
	if err != nil {
		i.t.Fatal(err)
	}
	i.AwaitLevel()
	return opened
}

// Known records a person and returns their id.
func (i *Installation) Known(name string) string {
	i.t.Helper()
	known, err := i.People.Known(WithTimeout(i.t), installation.NewRequest(), events.Details{
		Issuer: "https://id.example", Subject: strings.ToLower(name), Name: name,
		Mail: strings.ToLower(name) + "@example.com",
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.AwaitLevel()
	return known.Person.ID
}

// ByAcme returns a request of the account acme with its key.
func (i *Installation) ByAcme() domain.Request {
	r := installation.NewRequest()
	r.Operator, r.Account, r.Key = false, i.Acme.Account.ID, i.Acme.Account.Keys[0].ID
	return r
}

// Create creates links of acme and returns them.
func (i *Installation) Create(links ...commands.CreateURL) []domain.Link {
	i.t.Helper()
	return i.changed(i.Links.CreateURLs(WithTimeout(i.t), i.ByAcme(), links))
}

// Edit edits links of acme in one call and returns the batch of the call.
func (i *Installation) Edit(edits ...commands.EditURL) (batch string) {
	i.t.Helper()
	r := i.ByAcme()
	i.changed(i.Links.EditURLs(WithTimeout(i.t), r, edits))
	return r.Batch
}

// Delete deletes a link of acme.
func (i *Installation) Delete(hash string) {
	i.t.Helper()
	i.changed(commands.URLsOutcome{Items: i.Links.DeleteURLs(
		WithTimeout(i.t), i.ByAcme(), []linkwrite.Ref{{Hash: hash}},
	)})
}

func (i *Installation) changed(outcome commands.URLsOutcome) (links []domain.Link) {
	i.t.Helper()
	for _, item := range outcome.Items {
		if item.Err != nil {
			i.t.Fatal(item.Err)
		}
		links = append(links, item.URL)
	}
	i.AwaitLevel()
	return links
}

// Append appends events to a new stream.
func (i *Installation) Append(stream string, all ...events.Event) {
	i.t.Helper()
	if _, err := i.Store.Append(WithTimeout(i.t), eventstore.Write{
		Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(), Events: all,
	}); err != nil {
		i.t.Fatal(err)
	}
	i.AwaitLevel()
}

// Poison appends an event that the projection of tags sets aside. It returns the stream.
func (i *Installation) Poison() (stream string) {
	i.t.Helper()
	stream = events.StreamTags + uuid.NewString()
	i.Append(stream, events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}) // never created
	return stream
}

// Exec runs a statement on the database.
func (i *Installation) Exec(statement string, args ...any) {
	i.t.Helper()
	if _, err := i.DB.ExecContext(WithTimeout(i.t), statement, args...); err != nil {
		i.t.Fatal(err)
	}
}

// Rebuild builds a projection anew.
func (i *Installation) Rebuild(name string) {
	i.t.Helper()
	err := projections.Rebuild(
		WithTimeout(i.t), engine.Config{DB: i.DB, Store: i.Store}, []string{name},
		func([]status.Progress) {},
	)
	if err != nil {
		i.t.Fatal(err)
	}
}

// Link returns a link with a chosen hash.
func Link(hash string) commands.CreateURL {
	return commands.CreateURL{LongURL: "https://example.com/" + hash, CustomHash: hash}
}

// AddToAcme appends an event to the stream of the account acme, past the checks of the program.
func (i *Installation) AddToAcme(e events.Event) {
	i.t.Helper()
	stream := events.StreamAccount + i.Acme.Account.ID
	last, err := i.Store.Last(i.t.Context(), stream)
	if err == nil {
		_, err = i.Store.Append(i.t.Context(), eventstore.Write{
			Stream: stream, Expected: last.Revision, Command: uuid.New(), Events: []events.Event{e},
		})
	}
	if err != nil {
		i.t.Fatal(err)
	}
}
