package rebuild_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/status"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
	"linkledger/robots"
)

func wordsOf(t *testing.T, text string) *robots.Table {
	t.Helper()
	words, err := robots.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// judgedClicks counts clicks of one link and knows its numbers.
type judgedClicks struct {
	t     *testing.T
	db    *readmodel.DB
	store *eventstore.Store
	w     *projectionstest.Writer
	link  uuid.UUID
}

func newJudgedClicks(t *testing.T) *judgedClicks {
	t.Helper()
	c := &judgedClicks{t: t, db: projectionstest.Open(t), store: eventstoretest.New(t)}
	c.w = projectionstest.NewWriter(t, c.store)
	c.link, _ = c.w.Link(c.w.Account(), "one")
	return c
}

// click records a click of an agent that had the system of a browser, or not.
func (c *judgedClicks) click(program string, robot bool, system string) uint64 {
	c.t.Helper()
	return c.w.Append(events.StreamClicks+uuid.NewString(), events.ClicksRecorded{Clicks: []events.Click{{
		URLID: c.link.String(), Visitor: uuid.NewString(), At: time.Now(), Bot: robot, OS: system, Program: program,
	}}})
}

func (c *judgedClicks) rebuild(words *robots.Table) {
	c.t.Helper()
	cfg := engine.Config{DB: c.db, Store: c.store, Owner: "operator"}
	if err := projections.RebuildJudged(projectionstest.Context(c.t), cfg, projections.Judging(), words, func([]status.Progress) {}); err != nil {
		c.t.Fatal(err)
	}
}

// counts checks the total clicks, and those with a system, of the generations that serve, and that
// verification counts the same.
func (c *judgedClicks) counts(when string, total, systems int64) {
	c.t.Helper()
	if n := projectionstest.Count(c.t, c.db, "SELECT coalesce(sum(total_clicks), 0) FROM linkledger.link_stats"); n != total {
		c.t.Errorf("%s: %d clicks, want %d", when, n, total)
	}
	if n := projectionstest.Count(
		c.t, c.db, "SELECT coalesce(sum(clicks), 0) FROM linkledger.click_dimensions WHERE dimension = 'os'",
	); n != systems {
		c.t.Errorf("%s: %d clicks have a system, want %d", when, n, systems)
	}
	for _, name := range projections.Judging() {
		found, err := projections.Verify(projectionstest.Context(c.t), c.db, c.store, name, func([]status.Progress) {})
		if err != nil || found.Different != 0 {
			c.t.Errorf("%s: %d rows of %s are different, %v", when, found.Different, name, err)
		}
	}
}

// TestBuildKeepsItsWords checks that a later build, verification and a database that is built anew
// count clicks by the words that an operator has given, until there are others.
func TestBuildKeepsItsWords(t *testing.T) {
	t.Parallel()
	c := newJudgedClicks(t)
	c.click("", false, "Linux")
	c.click("AcmeWatch", false, "Windows")
	c.click("Better Uptime Bot", true, "macOS")
	c.click("curl", true, "")
	c.click("", true, "")
	c.rebuild(nil)
	c.counts("as recorded", 2, 2)
	words := wordsOf(t, "[robots]\nacmewatch\n[people]\nbetter uptime bot\ncurl\n")
	c.rebuild(words)
	c.counts("by words", 3, 2)
	c.rebuild(nil)
	c.counts("by the same words", 3, 2)
	c.click("AcmeWatch", false, "Windows") // judged at the visit, by the words of then
	c.click("curl", true, "")
	progress := projectionstest.NewProgress()
	stop := projectionstest.Run(t, engine.Config{DB: c.db, Store: c.store, OnCommit: progress.Advance})
	last := c.click("", false, "Linux")
	progress.Wait(t, last, projections.Links)
	progress.Wait(t, last, projections.Dimensions)
	stop()
	c.counts("with later clicks", 5, 4)
	c.rebuild(nil)
	c.counts("with later clicks, by the same words", 5, 4)

	// The read models are lost, and the keys are not.
	if _, err := c.db.ExecContext(projectionstest.Context(t), "DELETE FROM linkledger.generations"); err != nil {
		t.Fatal(err)
	}
	if err := projections.Prepare(projectionstest.Context(t), c.db); err != nil {
		t.Fatal(err)
	}
	progress = projectionstest.NewProgress()
	stop = projectionstest.Run(t, engine.Config{DB: c.db, Store: c.store, OnCommit: progress.Advance})
	progress.Wait(t, last, projections.Links)
	progress.Wait(t, last, projections.Dimensions)
	stop()
	c.counts("in a new database", 5, 4)

	c.rebuild(words)
	c.counts("later clicks by the words too", 5, 3)
	c.rebuild(robots.BuiltIn())
	c.counts("by the words of the program", 4, 4)
}

// TestRetryJudges checks that a dead letter counts by the words of its generation when it is applied.
func TestRetryJudges(t *testing.T) {
	t.Parallel()
	c, before := newJudgedClicks(t), time.Now()
	c.rebuild(wordsOf(t, "[robots]\nacmewatch\n- *bot\n"))
	var clicks events.ClicksRecorded
	for _, click := range []events.Click{
		{Program: "AcmeWatch", OS: "Windows"}, {Program: "Uptime Bot", Bot: true}, {Program: "AnyBot", Bot: true, OS: "iOS"},
	} {
		click.URLID, click.Visitor, click.At = c.link.String(), uuid.NewString(), before
		clicks.Clicks = append(clicks.Clicks, click)
	}
	data, err := codec.Encode(clicks)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range projections.Judging() {
		if _, err := c.db.NewRaw(`
			INSERT INTO linkledger.dead_letters (name, generation, commit_pos, prepare_pos, event_id, stream, revision,
				type, recorded_at, data, error)
			VALUES (?, 2, 1, 1, ?, ?, 0, ?, now(), ?, 'broken')`, name, uuid.New(), events.StreamClicks+"x",
			clicks.EventType(), data).Exec(projectionstest.Context(t)); err != nil {
			t.Fatal(err)
		}
		if n, err := projections.RetryDeadLetters(projectionstest.Context(t), c.db, name, ""); n != 1 || err != nil {
			t.Fatalf("%d dead letters of %s applied, %v", n, name, err)
		}
	}
	if n := projectionstest.Count(t, c.db, "SELECT coalesce(sum(total_clicks), 0) FROM linkledger.link_stats"); n != 1 {
		t.Errorf("%d clicks, want 1", n)
	}
	if n := projectionstest.Count(t, c.db, "SELECT sum(clicks) FROM linkledger.click_dimensions WHERE value = 'iOS'"); n != 1 {
		t.Errorf("%d clicks of iOS, want 1", n)
	}
}
