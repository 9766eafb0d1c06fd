package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

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
func fillLog(i *installation, n int) (last eventstore.Position) {
	i.t.Helper()
	store := openStore(i.t, "esdb://"+i.storeAddress+"?tls=false")
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
		appended, err := store.Append(i.t.Context(), eventstore.Write{
			Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(), Events: all,
		})
		if err != nil {
			i.t.Error(err)
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

// client creates, edits and reads links, and records what it has read.
type client struct {
	*installation
	name string
	seen []int // by link: the note that was read last
}

// work makes calls until ctx ends or a response is wrong.
func (c *client) work(ctx context.Context) error {
	for ctx.Err() == nil {
		n := len(c.seen)
		if n == 0 || rand.IntN(3) == 0 {
			body := fmt.Sprintf(
				`{"urls":[{"long_url":"https://example.com/","custom_hash":"%s-%d","note":"0"}]}`, c.name, n,
			)
			if err := c.write(ctx, "POST", "/urls", body, n, 0); err != nil {
				return err
			}
			continue
		}
		n = rand.IntN(n)
		if err := c.read(ctx, n, c.seen[n]); err != nil {
			return fmt.Errorf("a note that was read before is gone: %w", err)
		}
		next := c.seen[n] + 1
		if err := c.write(
			ctx, "PATCH", fmt.Sprintf("/urls/%s-%d", c.name, n), fmt.Sprintf(`{"urls":[{"note":"%d"}]}`, next), n, next,
		); err != nil {
			return err
		}
	}
	return nil
}

// write makes a call and waits until the link has the note.
func (c *client) write(ctx context.Context, method, path, body string, n, note int) error {
	if _, err := call(context.WithoutCancel(ctx), c.base, c.key, method, path, body); err != nil {
		return err
	}
	deadline := time.Now().Add(startTimeout)
	for {
		err := c.read(ctx, n, note)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a write is not visible: %w", err)
		}
	}
	if n == len(c.seen) {
		c.seen = append(c.seen, note)
	}
	c.seen[n] = note
	return nil
}

// read checks the note of a link.
func (c *client) read(ctx context.Context, n, note int) error {
	answer, err := call(context.WithoutCancel(ctx), c.base, c.key, "GET", fmt.Sprintf("/urls/%s-%d", c.name, n), "")
	if err != nil {
		return err
	}
	if got := answer["urls"].([]any)[0].(map[string]any)["note"]; got != strconv.Itoa(note) {
		return fmt.Errorf("note %v of %s-%d, want %d", got, c.name, n, note)
	}
	return nil
}

// TestRebuildUnderLoad rebuilds all projections in a process that is killed and restarted, while
// clients write and read. The clients must see no error, and no state older than one that they have
// already seen.
func TestRebuildUnderLoad(t *testing.T) {
	t.Parallel()
	i := install(t)
	db, err := readmodel.Open(t.Context(), i.database.DSN(), 2)
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
	i.eventually(
		"the service has caught up",
		func() bool { return is("name = 'links' AND commit_pos >= ?", int64(last.Commit)) },
	)

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for n := range 4 {
		c := &client{installation: i, name: fmt.Sprint("client", n)}
		clients.Go(func() {
			if err := c.work(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if len(c.seen) == 0 {
				t.Error("a client wrote no link")
			}
		})
	}
	defer clients.Wait()
	defer stop()
	rebuild := append([]string{"projections", "rebuild", "--all"}, i.backends()...)
	killed := startChild(t, program, rebuild...)
	i.eventually(
		"the links are being rebuilt",
		func() bool { return is("name = 'links' AND generation = 2 AND commit_pos > 0") },
	)
	killed.kill()
	late := is("name = 'links' AND generation = 2 AND built")
	if late {
		t.Log("the rebuild was killed too late to be resumed")
	}
	began := time.Now()
	rebuilding := startChild(t, program, rebuild...)
	<-rebuilding.ended
	if code := rebuilding.process.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("rebuild ended with %d:\n%s", code, rebuilding.output.String())
	}
	t.Logf("resumed and completed in %s, with %d MB at most", time.Since(began), rebuilding.peak())
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
	verify := append([]string{"projections", "verify", "--all"}, i.backends()...)
	killed = startChild(t, program, verify...)
	i.eventually("the verification has its tables", func() bool { return temporary() > 0 })
	killed.kill()
	i.eventually("the tables of the killed verification are gone", func() bool { return temporary() == 0 })
	out, log, code := command(t, verify...)
	if code != 0 || strings.Count(out, " 0 different\n") != len(projections.Names()) {
		t.Errorf("verify ended with %d:\n%s%s", code, out, log)
	}
	i.service.kill()
	t.Logf("the service took %d MB at most", i.service.peak())
	for _, process := range []*child{rebuilding, i.service} {
		if process.peak() >= mostMemory {
			t.Errorf("%s took %d MB, may take %d", process.process.Args[1:3], process.peak(), mostMemory)
		}
	}
}
