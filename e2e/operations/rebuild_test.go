package operations_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

var rebuildEvents = flag.Int(
	"rebuild-events", 40_000, "how many events TestRebuildUnderLoad rebuilds; make rebuild does 1,000,000",
)

// mostMemory is the most memory, in MB, that a process may use that rebuilds all projections, or
// that serves during the rebuild.
const mostMemory = 300

// fillLog appends the histories of links of a separate account. Each history is a creation and nine
// edits.
func fillLog(i *installtest.Installation, n int) (last eventstore.Position) {
	i.T.Helper()
	store := e2etest.OpenStore(i.T, "esdb://"+i.StoreAddress+"?tls=false")
	defer store.Close()
	now, account := time.Now(), uuid.NewString()
	history := func(id string) []events.Event {
		all := []events.Event{
			events.URLCreated{URLID: id, Account: account, Hash: "h" + id, LongURL: "https://example.com/0", At: now},
		}
		for edit := 1; edit < 10; edit++ {
			all = append(all, events.URLRetargeted{LongURL: fmt.Sprint("https://example.com/", edit), At: now})
		}
		return all
	}
	write := func(stream string, all ...events.Event) eventstore.Position {
		appended, err := store.Append(i.T.Context(), eventstore.Write{
			Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(), Events: all,
		})
		if err != nil {
			i.T.Error(err)
		}
		return appended.Position
	}
	write(events.StreamAccount+account, events.AccountOpened{Account: account, Username: account, At: now})
	var writers sync.WaitGroup
	for range 32 {
		writers.Go(func() {
			for range n / 32 / 10 {
				id := uuid.NewString()
				write(events.LinkStream(id), history(id)...)
			}
		})
	}
	writers.Wait()
	id := uuid.NewString()
	return write(events.LinkStream(id), history(id)...)
}

// TestRebuildUnderLoad rebuilds all projections in a process that is killed and restarted, while
// clients write and read. The clients must see no error, and no state older than one that they have
// already seen.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	db, err := readmodel.Open(t.Context(), i.Database.DSN(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	last := fillLog(i, *rebuildEvents)
	is := func(condition string, args ...any) bool {
		var n int
		if err := db.NewRaw("SELECT count(*) FROM linkledger.generations WHERE "+condition, args...).Scan(
			t.Context(), &n,
		); err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	i.Eventually(
		"the service has caught up",
		func() bool { return is("name = 'links' AND commit_pos >= ?", int64(last.Commit)) },
	)

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for n := range 4 {
		c := &installtest.Client{Installation: i, Name: fmt.Sprint("client", n)}
		clients.Go(func() {
			if err := c.Work(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if len(c.Seen) == 0 {
				t.Error("a client wrote no link")
			}
		})
	}
	defer clients.Wait()
	defer stop()
	rebuild := append([]string{"projections", "rebuild", "--all"}, i.Backends()...)
	killed := installtest.StartChild(t, e2etest.Program, rebuild...)
	i.Eventually(
		"the links are being rebuilt",
		func() bool { return is("name = 'links' AND generation = 2 AND commit_pos > 0") },
	)
	killed.Kill()
	late := is("name = 'links' AND generation = 2 AND built")
	if late {
		t.Log("the rebuild was killed too late to be resumed")
	}
	began := time.Now()
	rebuilding := installtest.StartChild(t, e2etest.Program, rebuild...)
	<-rebuilding.Ended
	if code := rebuilding.Process.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("rebuild ended with %d:\n%s", code, rebuilding.Output.String())
	}
	t.Logf("resumed and completed in %s, with %d MB at most", time.Since(began), rebuilding.Peak())
	stop()
	clients.Wait()
	// Small projections may have been rebuilt before the kill, and again after it.
	if is("serving AND generation < 2") {
		t.Error("an earlier generation serves")
	}
	if !late && is("name = 'links' AND serving AND generation <> 2") {
		t.Error("the rebuild of the links was not resumed")
	}
	temporary := func() (n int) {
		if err := db.NewRaw("SELECT count(*) FROM pg_class WHERE relpersistence = 't'").Scan(
			t.Context(), &n,
		); err != nil {
			t.Fatal(err)
		}
		return n
	}
	verify := append([]string{"projections", "verify", "--all"}, i.Backends()...)
	killed = installtest.StartChild(t, e2etest.Program, verify...)
	i.Eventually("the verification has its tables", func() bool { return temporary() > 0 })
	killed.Kill()
	i.Eventually("the tables of the killed verification are gone", func() bool { return temporary() == 0 })
	out, log, code := e2etest.Command(t, verify...)
	if code != 0 || strings.Count(out, " 0 different\n") != len(projections.Names()) {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	i.Service.Kill()
	t.Logf("the service took %d MB at most", i.Service.Peak())
	for _, process := range []*installtest.Child{rebuilding, i.Service} {
		if process.Peak() >= mostMemory {
			t.Errorf("%s took %d MB, may take %d", process.Process.Args[1:3], process.Peak(), mostMemory)
		}
	}
}
