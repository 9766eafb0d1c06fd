package projector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/metadata"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/status"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// intrusion is a change of a stream by another program.
type intrusion struct {
	do      func(t *testing.T, url, stream string)
	letters bool // the stream is unreadable from there on
}

func intrusions() map[string]intrusion {
	appending := func(eventType, body string) func(*testing.T, string, string) {
		return func(t *testing.T, url, stream string) {
			t.Helper()
			eventstoretest.Append(t, url, stream, eventType, []byte(body))
		}
	}
	all := map[string]intrusion{
		"unknown type": {appending("url.painted.v1", `{}`), true},
		"undecodable":  {appending(events.URLCreated{}.EventType(), `{"url_id":7}`), true},
		"no JSON":      {appending(events.TagCreated{}.EventType(), "\x00\xff"), true},
		"odd type":     {appending("a\x00b", `{}`), true},
		"no body":      {appending("url.painted.v1", ""), true},
		"link":         {appending("$>", "0@account-x"), false},
		"$metadata":    {appending(metadata.TypeMetadata, `{"$tb":9}`), false},
	}
	for _, cut := range eventstoretest.Cuts() {
		all[cut.Name] = intrusion{func(t *testing.T, url, stream string) {
			t.Helper()
			cut.Apply(t, url, stream)
		}, false}
	}
	return all
}

// TestIntrusions lets another program truncate streams or append unreadable events to them. It
// checks that the projections continue with all other streams, live and during a build, and that
// Verify finds no difference.
func TestIntrusions(t *testing.T) {
	t.Parallel()
	for name, tc := range intrusions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, building := range []bool{true, false} {
				testIntrusion(t, tc, building)
			}
		})
	}
}

func testIntrusion(t *testing.T, tc intrusion, building bool) {
	t.Helper()
	server := eventstoretest.Serve(t)
	db, store := projectionstest.Open(t), eventstoretest.Open(t, server.URL())
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	account := w.Account()
	link, _ := w.Link(account, "damaged")
	w.Append(events.StreamURL+link.String(), events.URLRetargeted{LongURL: "https://example.com/second", At: logtest.Noon})
	label := func() events.TagCreated {
		return events.TagCreated{TagID: uuid.NewString(), Account: account.String(), Label: "l", At: logtest.Noon}
	}
	tags := w.Append(events.StreamTags+account.String(), label(), label())
	board := &status.Registry{}
	start := func() {
		projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance, Registry: board})
	}
	if !building {
		start()
		progress.Wait(t, tags, projections.Tags, projections.History, projections.Tree, projections.Activity)
	}
	for _, stream := range []string{events.StreamURL + link.String(), events.StreamTags + account.String()} {
		tc.do(t, server.URL(), stream)
	}
	rotated := events.StreamAccount + w.Account().String()
	w.Append(rotated, events.KeyRotated{KeyID: "k", KeyHash: "h", At: logtest.Noon})
	tc.do(t, server.URL(), rotated)
	if tc.letters {
		// This is not a stream of Linkledger.
		eventstoretest.Append(t, server.URL(), "url-\x00", events.TagCreated{}.EventType(), nil)
	}
	_, after := w.Link(account, "after")
	last := w.Append(events.StreamTags+w.Account().String(), label())
	if building {
		start()
	}
	progress.Wait(t, after, projections.Links)
	progress.Wait(t, last, projections.Tags, projections.History, projections.Tree, projections.Activity)
	for _, s := range board.All() {
		if s.Err != nil || s.Stopped {
			t.Errorf("building %v: status %+v", building, s)
		}
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.links"); n != 2 {
		t.Errorf("building %v: %d links", building, n)
	}
	letters, err := deadletter.List(t.Context(), db, projections.Links)
	isURL := func(l readmodel.DeadLetter) bool { return strings.HasPrefix(l.Stream, events.StreamURL) }
	if err != nil || slices.ContainsFunc(letters, isURL) != tc.letters {
		t.Errorf("building %v: letters %+v, %v", building, letters, err)
	}
	for _, projection := range projections.Names() {
		found, err := projections.Verify(projectionstest.Context(t), db, store, projection, func([]status.Progress) {})
		if err != nil || found.Different != 0 {
			t.Errorf("building %v: verify %s: %+v, %v", building, projection, found, err)
		}
	}
}

// TestReadableLetters lets an older version park an event that a newer version can decode. It
// checks that the newer version applies the event when it takes over.
func TestReadableLetters(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	db, store := projectionstest.Open(t), eventstoretest.Open(t, server.URL())
	w, progress := projectionstest.NewWriter(t, store), projectionstest.NewProgress()
	account := w.Account()
	_, at := w.Link(account, "a")
	stop := projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	progress.Wait(t, at, projections.Links)
	eventstoretest.Append(t, server.URL(), events.StreamTags+account.String(), "tag.painted.v9", []byte(`{}`))
	w.Revisions[events.StreamTags+account.String()] = 0
	created := events.TagCreated{TagID: uuid.NewString(), Account: account.String(), Label: "follower", At: logtest.Noon}
	at = w.Append(events.StreamTags+account.String(), created)
	progress.Wait(t, at, projections.Tags)
	stop()
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.dead_letters WHERE name = ?", projections.Tags); n != 2 {
		t.Fatalf("%d letters", n)
	}
	body := fmt.Sprintf(
		`{"tag_id":%q,"account":%q,"label":"first","at":"2026-11-21T10:00:00Z"}`, uuid.NewString(), account,
	)
	if _, err := db.NewRaw("UPDATE linkledger.dead_letters SET type = ?, data = ? WHERE name = ? AND type = "+
		"'tag.painted.v9'",
		// As if this version could decode the type.
		events.TagCreated{}.EventType(), []byte(body), projections.Tags).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	projectionstest.Run(t, engine.Config{DB: db, Store: store, OnCommit: progress.Advance})
	at = w.Append(
		events.StreamTags+account.String(),
		events.TagCreated{TagID: uuid.NewString(), Account: account.String(), Label: "last", At: logtest.Noon},
	)
	progress.Wait(t, at, projections.Tags)
	ctx := projectionstest.Context(t)
	for projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.dead_letters WHERE name = ?", projections.Tags) > 0 {
		if ctx.Err() != nil {
			t.Fatal("letters are left")
		}
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.tags"); n != 3 {
		t.Errorf("%d tags", n)
	}
}
