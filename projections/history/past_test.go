package history_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/foldtest"
	"linkledger/projections/history"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

// library is a database with all read models that can be filled from different logs in sequence.
type library struct {
	q         *queries.DB
	lists     *linklist.Reader
	workshops []*foldtest.Workshop
}

func newLibrary(t testing.TB) *library {
	t.Helper()
	db := projectionstest.Open(t)
	l := &library{q: queries.New(db), lists: linklist.New(db)}
	for _, name := range projections.Names() {
		l.workshops = append(l.workshops, foldtest.NewAt(t, db, name))
	}
	return l
}

// fill empties all tables and applies a log to them.
func (l *library) fill(ctx context.Context, t *rapid.T, log []eventstore.Recorded) {
	t.Helper()
	for _, w := range l.workshops {
		var tables []string
		name := w.Projection.Name
		schema := readmodel.GenerationSchema(name, generation.First)
		err := w.DB.NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = ?", schema).Scan(ctx, &tables)
		for i := 0; i < len(tables) && err == nil; i++ {
			_, err = w.DB.NewRaw("DELETE FROM ?.?", bun.Ident(schema), bun.Ident(tables[i])).Exec(ctx)
		}
		if err == nil {
			_, err = w.DB.NewRaw(
				"UPDATE linkledger.generations SET commit_pos = 0, prepare_pos = 0 WHERE name = ?", name,
			).Exec(ctx)
		}
		if err != nil {
			t.Fatalf("empty %s: %v", name, err)
		}
		p, followed := w.Projector(ctx, t), w.Followed(log)
		cut := rapid.IntRange(0, len(followed)).Draw(t, "cut")
		foldtest.Apply(ctx, t, p, followed[:cut])
		foldtest.Apply(ctx, t, p, followed[cut:])
	}
}

// pastLog is a log with the times from which its events are valid.
type pastLog struct {
	*logtest.History
	moments []time.Time // by event; zero for events without an account
}

// drawTimes draws the event store's time of each event. The clock may stand still, jump and go
// backwards.
func drawTimes(t *rapid.T, h *logtest.History) *pastLog {
	p := &pastLog{h, make([]time.Time, len(h.Log))}
	clock := logtest.Noon
	latest := make(map[uuid.UUID]time.Time)
	for i := range h.Log {
		clock = clock.Add(rapid.SampledFrom([]time.Duration{
			0, 0, 1, 100, time.Microsecond, time.Second, 20 * time.Hour, -2 * time.Second,
		}).Draw(t, "later"))
		if rapid.IntRange(0, 3).Draw(t, "turn") == 0 {
			for !history.StartsPage(clock.UnixNano()) {
				clock = clock.Add(1)
			}
		}
		h.Log[i].Time = clock
		if account, ok := p.accountOf(h.Log[i]); ok {
			if clock.After(latest[account]) {
				latest[account] = clock
			}
			p.moments[i] = latest[account]
		}
	}
	return p
}

// accountOf returns the account whose history contains an event.
func (p *pastLog) accountOf(r eventstore.Recorded) (uuid.UUID, bool) {
	f := projection.Event{Recorded: r}
	if id, err := f.Link(); err == nil {
		i := slices.IndexFunc(p.Links, func(l *logtest.Link) bool { return l.ID == id })
		if i < 0 {
			return uuid.Nil, false // an abandoned claim or creation without a link
		}
		isClaim := r.Type == events.ClaimAbandoned{}.EventType() || strings.HasPrefix(r.Type, "hash.")
		return p.Links[i].Account.ID, !isClaim
	}
	if id, err := f.Subject(events.StreamTags); err == nil {
		return id, true
	}
	id, err := f.Subject(events.StreamAccount)
	return id, err == nil
}

// until returns the events that were valid at a time.
func (p *pastLog) until(at time.Time) []eventstore.Recorded {
	var log []eventstore.Recorded
	for i, r := range p.Log {
		if !p.moments[i].IsZero() && !p.moments[i].After(at) {
			log = append(log, r)
		}
	}
	return log
}

// TestPast draws histories. It checks that a query as of a time returns what the read models
// contain if the log ends there.
func TestPast(t *testing.T) {
	t.Parallel()
	past, then := newLibrary(t), newLibrary(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		p := drawTimes(t, logtest.Draw(t))
		past.fill(ctx, t, p.Log)
		event := rapid.IntRange(0, len(p.Log)-1).Draw(t, "event")
		at := p.Log[event].Time
		if !p.moments[event].IsZero() {
			at = p.moments[event]
		}
		at = at.Add(
			-rapid.SampledFrom([]time.Duration{0, 1, time.Microsecond, time.Hour, -1, -time.Hour}).Draw(t, "before"),
		)
		then.fill(ctx, t, p.until(at))
		for _, a := range p.Accounts {
			samePast(ctx, t, a, past.q, at, then.q)
			for range 5 {
				list := p.drawList(t, a)
				sameList(ctx, t, list, past.lists, at, then.lists, func(l queries.Link) queries.Link {
					// httpapi.TestPastClicks checks these.
					l.TotalClicks, l.UniqueClicks, l.LastVisit, l.Visited = 0, 0, nil, false
					return l
				})
				end := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
				sameList(ctx, t, list, past.lists, end, past.lists, func(l queries.Link) queries.Link { return l })
			}
			for _, hash := range p.hashes() {
				sameLink(ctx, t, a.ID, hash, past.q, at, then.q)
			}
		}
	})
}

// hashes returns all hashes that links have ever had.
func (p *pastLog) hashes() []string {
	var hashes []string
	for _, r := range p.Log {
		switch e := mustDecode(p.T, r).(type) {
		case events.URLCreated:
			hashes = append(hashes, e.Hash)
		case events.URLRenamed:
			hashes = append(hashes, e.To)
		case events.URLRestored:
			hashes = append(hashes, e.Hash)
		}
	}
	return hashes
}

func mustDecode(t *rapid.T, r eventstore.Recorded) events.Event {
	e, err := r.Event()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (p *pastLog) drawList(t *rapid.T, a *logtest.Account) linklist.Query {
	list := linklist.Query{
		Owner: linklist.Owner{Account: a.ID}, Reverse: rapid.Bool().Draw(t, "reverse"),
		Order: rapid.SampledFrom([]linklist.Order{linklist.NewestFirst, linklist.ModifiedFirst, linklist.ByHash}).Draw(
			t, "order",
		),
		Offset: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "offset"),
		Limit:  rapid.SampledFrom([]int{1, 2, 100}).Draw(t, "limit"),
		Search: rapid.SampledFrom([]string{"", "", "l", "PLAIN", "h1", `\`, "%", "GRÜSSE", "üß", "k\nb", "世"}).Draw(
			t, "search",
		),
	}
	if hashes := p.hashes(); len(hashes) > 0 && rapid.IntRange(0, 3).Draw(t, "hashes") == 0 {
		list.Hashes = rapid.SliceOfN(rapid.SampledFrom(hashes), 1, 4).Draw(t, "hash")
	}
	expressions := []string{"", "", "archived", "~ping", ">2026-03-31", "<2026-04-01|archived"}
	for _, label := range a.EverLabels {
		expressions = append(expressions, `"`+label+`"`, `~"`+label+`"&>2026-03-31`)
	}
	expression := rapid.SampledFrom(expressions).Draw(t, "tags")
	if expr, err := tagexpr.Parse(expression); err == nil {
		list.Tags = expr
	}
	return list
}

// sameList compares a list as of a time with the list from read models that end there. It compares
// the fields that keep preserves.
func sameList(
	ctx context.Context, t *rapid.T, list linklist.Query, past *linklist.Reader, at time.Time, then *linklist.Reader,
	keep func(queries.Link) queries.Link,
) {
	t.Helper()
	want, wrong := then.Links(ctx, list)
	list.At = at
	got, err := past.Links(ctx, list)
	if (err == nil) != (wrong == nil) {
		t.Fatalf("%+v: %v, want %v", list, err, wrong)
	}
	for _, page := range []linklist.Page{got, want} {
		for i := range page.Links {
			page.Links[i] = keep(page.Links[i])
			page.Links[i].LastVisit, page.Links[i].Note = nil, page.Links[i].Note+fmt.Sprint(page.Links[i].LastVisit)
		}
	}
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
		t.Fatalf("%+v:\n%s, want\n%s", list, a, b)
	}
}

func sameLink(
	ctx context.Context, t *rapid.T, account uuid.UUID, hash string, past *queries.DB, at time.Time, then *queries.DB,
) {
	t.Helper()
	want, wrong := then.LinkByHash(ctx, account, hash)
	got, err := past.LinkAt(ctx, account, hash, at)
	got.TotalClicks, got.UniqueClicks, got.LastVisit, got.Visited = 0, 0, nil, false
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b || (err == nil) != (wrong == nil) {
		t.Fatalf("%s at %s:\n%s, %v, want\n%s, %v", hash, at, a, err, b, wrong)
	}
}

// samePast compares an account as of a time with the account from read models that end there.
func samePast(ctx context.Context, t *rapid.T, a *logtest.Account, past *queries.DB, at time.Time, then *queries.DB) {
	t.Helper()
	want, wrong := then.AccountByUsername(ctx, "user"+a.ID.String())
	want.CreatedAt = time.Time{}
	got, counters, err := past.AccountAt(ctx, a.ID, at)
	if (err == nil) != (wrong == nil) || err == nil && got != want {
		t.Fatalf("account at %s: %+v, %v, want %+v, %v", at, got, err, want, wrong)
	}
	if err != nil {
		return
	}
	if wantCounters, err := then.AccountCounters(ctx, a.ID, at); err != nil || counters != wantCounters {
		t.Fatalf("counters at %s: %+v, want %+v, %v", at, counters, wantCounters, err)
	}
}
