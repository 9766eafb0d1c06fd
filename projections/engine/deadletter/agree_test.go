package deadletter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/projection"
	"linkledger/projections/projectionstest"
)

// drawContradictions draws events of two accounts and two persons with few keys and members. Many contradict the events
// before them. A key id is that of one addition or rotation only.
func drawContradictions(t *rapid.T) []eventstore.Recorded {
	accounts := []string{uuid.Max.String(), uuid.NewSHA1(uuid.Nil, []byte("b")).String()}
	users := []string{uuid.NewSHA1(uuid.Nil, []byte("c")).String(), uuid.NewSHA1(uuid.Nil, []byte("d")).String()}
	revisions := make(map[string]eventstore.Revision)
	var log []eventstore.Recorded
	for n := range rapid.IntRange(1, 25).Draw(t, "events") {
		at := logtest.Noon.Add(time.Duration(n) * time.Minute)
		account, user := rapid.SampledFrom(accounts).Draw(t, "account"), rapid.SampledFrom(users).Draw(t, "user")
		key := fmt.Sprint("k", rapid.IntRange(0, 3).Draw(t, "key"))
		stream, text := events.StreamAccount+account, fmt.Sprint("v", n)
		var e events.Event
		switch rapid.IntRange(0, 14).Draw(t, "event") {
		case 0, 1:
			e = events.AccountOpened{Account: account, Username: text, KeyID: "first", KeyHash: text, At: at}
		case 2:
			e = events.KeyRotated{KeyID: fmt.Sprint("r", n), KeyHash: text, At: at}
		case 3, 4:
			e = events.KeyAdded{KeyID: key, KeyHash: text, KeyTerms: events.KeyTerms{Name: text}, At: at}
		case 5, 6:
			key = rapid.SampledFrom([]string{key, "first", fmt.Sprint("r", n-1), fmt.Sprint("r", n+1)}).Draw(t, "changed")
			e = events.KeyChanged{KeyID: key, KeyTerms: events.KeyTerms{Name: text}, At: at}
		case 7:
			e = events.KeyRevoked{KeyID: key, At: at}
		case 8:
			e = events.MemberSet{User: user, Role: text, At: at}
		case 9:
			user = rapid.SampledFrom([]string{user, user, "no id"}).Draw(t, "removed")
			e = events.MemberRemoved{User: user, At: at}
		case 10:
			e = rapid.SampledFrom([]events.Event{
				events.AccountDeactivated{At: at},
				events.AccountReactivated{At: at},
				events.AccountErased{At: at},
				events.AccountExpiryChanged{ExpirationDate: "2026-02-30", At: at},
				events.PlanChanged{Plan: text, At: at},
			}).Draw(t, "change")
		case 11:
			stream, e = events.StreamUser+user, events.UserErased{At: at}
		default:
			stream = events.StreamUser + user
			sealed := &events.Sealed{Account: rapid.SampledFrom(users).Draw(t, "sealed for"), Box: []byte(text)}
			e = events.UserKnown{User: user, Sealed: sealed, At: at}
		}
		log = logtest.Record(log, stream, revisions[stream], e)
		revisions[stream]++
	}
	return log
}

// retry tries the dead letters of a stream, or of all, as the version that is at fault no longer.
func retry(ctx context.Context, w *foldtest.Workshop, t projectionstest.T, stream string) {
	t.Helper()
	var of []string
	if stream != "" {
		of = []string{stream}
	}
	if _, err := deadletter.Retry(ctx, w.DB, w.Projection, of...); err != nil {
		if _, refused := errors.AsType[*projection.EventError](err); !refused {
			t.Fatalf("retry: %v", err)
		}
	}
}

// drawLinkContradictions draws events of two links, each of its own account. Many contradict the events before them.
func drawLinkContradictions(t *rapid.T) []eventstore.Recorded {
	links := []string{uuid.Max.String(), uuid.NewSHA1(uuid.Nil, []byte("b")).String()}
	revisions := make(map[string]eventstore.Revision)
	var log []eventstore.Recorded
	for n := range rapid.IntRange(1, 25).Draw(t, "events") {
		at := logtest.Noon.Add(time.Duration(n) * time.Minute)
		link := rapid.SampledFrom(links).Draw(t, "link")
		account, text := uuid.NewSHA1(uuid.Nil, []byte(link)).String(), fmt.Sprint("v", n)
		tags := []string{uuid.NewSHA1(uuid.Nil, []byte(text)).String()}
		deleted := events.URLDeleted{Account: account, Hash: "h", At: at}
		e := rapid.SampledFrom([]events.Event{
			events.URLCreated{URLID: link, Account: account, Hash: link[:8], LongURL: text, Tags: tags, At: at},
			events.URLRetargeted{LongURL: text, At: at},
			events.URLRenamed{From: link[:8], To: link[:7] + text, At: at},
			events.URLTagged{Tags: tags, At: at},
			events.URLUntagged{Tags: []string{"no id"}, At: at},
			events.URLSettingsChanged{SettingsChange: events.SettingsChange{Protected: new(n%2 == 0)}, At: at},
			events.URLStatsReset{At: at},
			deleted, deleted,
			events.URLDeleted{Account: "no id", At: at},
			events.URLRestored{Account: account, Hash: link[:8], At: at},
		}).Draw(t, "event")
		if len(log) < len(links) {
			link = links[len(log)]
			account = uuid.NewSHA1(uuid.Nil, []byte(link)).String()
			e = events.URLCreated{URLID: link, Account: account, Hash: link[:8], LongURL: text, Tags: tags, At: at}
		}
		log = logtest.Record(log, events.StreamURL+link, revisions[link], e)
		revisions[link]++
	}
	return log
}

// TestRetriesAndRebuildsAgree applies events, of which many contradict their stream, by a version that cannot apply one
// of them, and tries dead letters again in between. It checks after each step that the tables are those of a replay. Once
// all dead letters were tried by a sound version, tables and dead letters are those of a rebuild.
func TestRetriesAndRebuildsAgree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		draw     func(*rapid.T) []eventstore.Recorded
		outlasts func(events.Event) bool
	}{
		projections.Accounts: {drawContradictions, events.EndsRights},
		projections.Links:    {drawLinkContradictions, events.EndsLink},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			retriesAndRebuildsAgree(t, foldtest.New(t, name), c.draw, c.outlasts)
		})
	}
}

func retriesAndRebuildsAgree(
	t *testing.T, w *foldtest.Workshop, draw func(*rapid.T) []eventstore.Recorded, outlasts func(events.Event) bool,
) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		log := w.Followed(draw(t))
		at := log[rapid.IntRange(0, len(log)-1).Draw(t, "poison")]
		if body, err := at.Event(); err != nil || outlasts(body) {
			return // then what ends the right or the link cannot be applied itself, and its call is answered so
		}
		foldtest.Apply(ctx, t, w.Empty(ctx, t), log)
		want, aside := w.Dump(ctx, t), w.Letters(ctx, t)
		w.Clear(ctx, t)

		w.StartOver(ctx, t)
		check := func() {
			t.Helper()
			if found := w.Verify(ctx, t, log); found.Different > 0 {
				t.Fatalf("verify finds %+v", found.Differences)
			}
		}
		streams := []string{"", log[0].Stream, log[len(log)-1].Stream}
		poison := w.Poisoning(at.Position, false)
		for done := 0; done < len(log); {
			next := rapid.IntRange(done+1, len(log)).Draw(t, "next")
			foldtest.Apply(ctx, t, w.Projector(ctx, t, poison), log[done:next])
			done = next
			check()
			if rapid.Bool().Draw(t, "retry") {
				retry(ctx, w, t, rapid.SampledFrom(streams).Draw(t, "stream"))
				check()
			}
		}
		retry(ctx, w, t, "")
		check()
		if got := w.Dump(ctx, t); got != want {
			t.Fatalf("after the retry\n%s, want\n%s", got, want)
		}
		if got := w.Letters(ctx, t); got != aside {
			t.Fatalf("dead letters\n%s, want\n%s", got, aside)
		}
		w.Clear(ctx, t)
	})
}
