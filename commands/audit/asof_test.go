package audit_test

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// TestURLAtIsTheSumOfItsChanges checks, for random sequences of commands and at the time of every
// event, that LinkAsOf returns the sum of the changes that the history lists up to that time.
func TestURLAtIsTheSumOfItsChanges(t *testing.T) {
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		account, hash := uuid.NewString(), "h"+uuid.NewString()[:8]
		s.create(t, request(account), commands.CreateURL{LongURL: "https://example.com/", CustomHash: hash, Tags: []string{"a"}})
		for i := range rapid.IntRange(0, 6).Draw(rt, "changes") {
			edit, number := commands.EditURL{}, strconv.Itoa(i)
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0:
				edit.LongURL = new("https://example.com/" + number)
			case 1:
				edit.Note, edit.ExpirationDate = new(number), new("2027-01-0"+strconv.Itoa(i+1))
			case 2:
				edit.Tags = []string{"+t" + number, "-a"}
			case 3:
				edit.Protected, edit.MaxClicks = new(i%2 == 0), new(int64(i))
			case 4:
				if _, err := s.RenameTag(ctx, request(account), "a", "a"); err != nil {
					rt.Fatal(err)
				}
				edit.Tags = []string{"+a"}
			case 5:
				if _, err := s.RenameTag(ctx, request(account), "a", "A"); err != nil {
					rt.Fatal(err)
				}
			}
			if err := s.edit(t, request(account), hash, edit); err != nil {
				rt.Fatal(err)
			}
		}
		history := s.history(t, audit.HistoryQuery{Hash: hash})
		for _, changed := range history.Entries[1:] {
			sum := map[string]any{"note": "", "max_clicks": int64(0), "protected": false, "expiration_date": nil}
			for _, e := range history.Entries[1:] {
				if e.Time.After(changed.Time) {
					continue
				}
				for _, c := range e.Changes {
					sum[c.Field] = c.After
				}
			}
			found, err := s.LinkAsOf(ctx, audit.AsOfQuery{Hash: hash, Time: changed.Time, Account: account})
			if err != nil {
				rt.Fatal(err)
			}
			u := found.Link
			was := map[string]any{
				"hash": u.Hash, "long_url": u.LongURL, "note": u.Note, "max_clicks": u.MaxClicks,
				"protected":       u.Protected,
				"expiration_date": audit.Value(u.ExpirationDate), "tags": found.Labels,
			}
			if !reflect.DeepEqual(was, sum) {
				rt.Fatalf("at %s it was %v, the changes add up to %v", changed.Time, was, sum)
			}
		}
	})
}

func TestURLAt(t *testing.T) {
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	first := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	s.mustEdit(t, "one", commands.EditURL{CustomHash: new("two")})
	second := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/2", CustomHash: "one"})
	if err := s.DeleteURLs(ctx, request("a"), linkwrite.ByHash("one"))[0].Err; err != nil {
		t.Fatal(err)
	}
	when := func(link, eventType string) time.Time {
		history := s.history(t, audit.HistoryQuery{Hash: "one"})
		i := slices.IndexFunc(
			history.Entries, func(e audit.Entry) bool { return e.Link == link && e.Type == eventType },
		)
		return history.Entries[i].Time
	}
	created, renamed := when(first.ID, "url.created.v1"), when(first.ID, "url.renamed.v1")
	again, deleted := when(second.ID, "url.created.v1"), when(second.ID, "url.deleted.v1")
	for at, want := range map[time.Time]audit.AsOf{
		created:         {Link: first, Since: created, Until: renamed},
		renamed.Add(-1): {Link: first, Since: created, Until: renamed},
		again:           {Link: second, Since: again, Until: deleted},
	} {
		got, err := s.LinkAsOf(ctx, audit.AsOfQuery{Hash: "one", Time: at, Account: "a"})
		if err != nil || got.Link.ID != want.Link.ID || got.Link.LongURL != want.Link.LongURL ||
			!got.Since.Equal(want.Since) || !got.Until.Equal(want.Until) {
			t.Errorf("at %s: %+v, %v; want %+v", at, got, err, want)
		}
	}
	if now, err := s.LinkAsOf(ctx, audit.AsOfQuery{Hash: "two", Time: deleted.AddDate(1, 0, 0)}); err != nil ||
		now.Link.ID != first.ID || !now.Until.IsZero() {
		t.Errorf("now: %+v, %v", now, err)
	}
	for _, missing := range []struct {
		query audit.AsOfQuery
		want  string
	}{
		{
			audit.AsOfQuery{Hash: "one", Time: created.Add(-time.Second)},
			`No URL had lived under the hash "one" by then`,
		},
		{audit.AsOfQuery{Hash: "one", Time: renamed}, `The URL had moved from the hash "one" to "two"`},
		{
			audit.AsOfQuery{Hash: "one", Time: deleted},
			`The URL with the hash "one" had been deleted on ` + s.clock.Format(time.RFC3339),
		},
		{audit.AsOfQuery{Hash: "one", Time: created, Account: "b"}, `No URL had lived under the hash "one" by then`},
	} {
		if _, err := s.LinkAsOf(ctx, missing.query); domain.KindOf(err) != domain.URLNotFound ||
			err.Error() != missing.want {
			t.Errorf("%+v: %v", missing.query, err)
		}
	}
	if _, err := s.LinkAsOf(ctx, audit.AsOfQuery{Hash: "n.n"}); domain.KindOf(err) != domain.InvalidHash {
		t.Errorf("no hash: %v", err)
	}
}
