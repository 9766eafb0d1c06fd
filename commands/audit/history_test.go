package audit_test

import (
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/audit/audittest"
	"linkledger/commands/clicks"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func TestHistoryShowsEveryKindOfChange(t *testing.T) {
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	url := s.create(t, request("a"), commands.CreateURL{
		LongURL: "https://example.com/1", CustomHash: "one", Note: "first",
		Settings: events.Settings{EmailStats: true, MaxClicks: 3},
		Tags:     []string{"red"},
	})
	s.mustEdit(t, "one", commands.EditURL{LongURL: new("https://example.com/2")})
	s.mustEdit(t, "one", commands.EditURL{
		Note: new("second"),
		SettingsChange: events.SettingsChange{
			EmailStats: new(false), Ping: new(true), Protected: new(true), Archived: new(true),
			ExpirationDate: new("2027-01-01"), MaxClicks: new(int64(0)),
		},
	})
	s.mustEdit(t, "one", commands.EditURL{SettingsChange: events.SettingsChange{Protected: new(false), ExpirationDate: new("")}})
	s.mustEdit(t, "one", commands.EditURL{Tags: []string{"+blue"}})
	s.mustEdit(t, "one", commands.EditURL{CustomHash: new("two")})
	if _, err := s.RenameTag(ctx, request("a"), "red", "Rot"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateTag(ctx, request("a"), "of no link"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteTag(ctx, request("a"), "blue"); err != nil {
		t.Fatal(err)
	}
	s.mustEdit(t, "two", commands.EditURL{Tags: []string{"-Rot"}})
	for _, change := range []func() []linkwrite.Outcome{
		func() []linkwrite.Outcome { return s.ResetStats(ctx, request("a"), []linkwrite.Ref{{Hash: "two"}}) },
		func() []linkwrite.Outcome { return s.DeleteURLs(ctx, request("a"), []linkwrite.Ref{{Hash: "two"}}) },
	} {
		if err := change()[0].Err; err != nil {
			t.Fatal(err)
		}
	}

	history := s.history(t, audit.HistoryQuery{Hash: "one"})
	audittest.WantEntries(
		t, history.Entries,
		`hash.claimed.v1 by "a" claimed_by: <nil> -> `+url.ID,
		`url.created.v1 by "a" hash: <nil> -> one long_url: <nil> -> https://example.com/1 note: <nil> -> first `+
			`email_stats: <nil> -> true max_clicks: <nil> -> 3 tags: <nil> -> [red]`,
		`url.retargeted.v1 by "a" long_url: https://example.com/1 -> https://example.com/2`,
		`url.settings_changed.v1 by "a" note: first -> second email_stats: true -> false ping: false -> true `+
			`protected: false -> true archived: false -> true expiration_date: <nil> -> 2027-01-01 max_clicks: 3 -> 0`,
		`url.settings_changed.v1 by "a" protected: true -> false expiration_date: 2027-01-01 -> <nil>`,
		`url.tagged.v1 by "a" tags: [red] -> [red blue]`,
		`url.renamed.v1 by "a" hash: one -> two`,
		`hash.released.v1 by "a" claimed_by: `+url.ID+` -> <nil>`,
		`tag.renamed.v1 by "a" tags: [red blue] -> [Rot blue]`,
		`tag.deleted.v1 by "a" tags: [Rot blue] -> [Rot]`,
		`url.untagged.v1 by "a" tags: [Rot] -> []`,
		`url.stats_reset.v1 by "a"`,
		`url.deleted.v1 by "a" deleted: false -> true`,
	)
	newest := s.history(t, audit.HistoryQuery{Hash: "one", NewestFirst: true}).Entries
	page := s.history(t, audit.HistoryQuery{Hash: "one", NewestFirst: true, Offset: 2, Limit: 3}).Entries
	slices.Reverse(newest)
	slices.Reverse(page)
	if n := len(newest); !reflect.DeepEqual(newest, history.Entries) || !reflect.DeepEqual(page, newest[n-5:n-2]) {
		t.Errorf("the newest first: %+v, and the page %+v", newest, page)
	}
	hour := func(n int) time.Time { return commandstest.At.Add(time.Duration(n) * time.Hour) }
	want := []audit.LinkLife{{
		ID: url.ID, Account: "a", CreatedAt: commandstest.At, DeletedAt: hour(6),
		Tenures: []audit.Tenure{
			{Hash: "one", From: commandstest.At, Until: hour(5)}, {Hash: "two", From: hour(5), Until: hour(6)},
		},
	}}
	if !reflect.DeepEqual(history.Links, want) {
		t.Errorf("links %+v, want %+v", history.Links, want)
	}
	for _, e := range history.Entries {
		if e.Actor.Key != "key" || e.Actor.Address != "address" || e.Request != "request" || e.Batch != "batch" ||
			e.Link != url.ID || e.Time.IsZero() || e.ID == uuid.Nil || e.Position.Commit == 0 {
			t.Errorf("entry %+v", e)
		}
	}
	// The link's last hash leads to the same link. Only the claims differ, since they are of the
	// other hash.
	if last := s.history(t, audit.HistoryQuery{Hash: "two"}); !reflect.DeepEqual(last.Links, want) ||
		len(last.Entries) != len(history.Entries) {
		t.Errorf("by its last hash: %+v", last)
	}
}

func TestHistoryFollowsFormerOwners(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	s.mustEdit(t, "one", commands.EditURL{CustomHash: new("two")})
	second := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/2", CustomHash: "one"})
	s.mustEdit(t, "two", commands.EditURL{Note: new("still its own")})

	history := s.history(t, audit.HistoryQuery{Hash: "one", Account: "a"})
	if len(history.Links) != 2 || history.Links[0].ID != first.ID || history.Links[1].ID != second.ID {
		t.Fatalf("links %+v", history.Links)
	}
	if last := history.Entries[len(history.Entries)-1]; last.Link != first.ID ||
		last.Type != "url.settings_changed.v1" {
		t.Errorf("the last event is %+v", last)
	}
	if !slices.IsSortedFunc(
		history.Entries, func(a, b audit.Entry) int { return cmp.Compare(a.Position.Commit, b.Position.Commit) },
	) {
		t.Error("entries are not in log order")
	}
	if last := s.history(t, audit.HistoryQuery{Hash: "one", MaxLinks: 1}); last.MoreLinks != 1 ||
		len(last.Links) != 1 || last.Links[0].ID != second.ID {
		t.Errorf("with at most one link: %+v", last)
	}
}

// TestHistoryKeepsAccountsApart checks that a hash can change accounts after a claim that no link
// followed, and that the history does not show either account the other.
func TestHistoryKeepsAccountsApart(t *testing.T) {
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	late := uuid.NewString()
	if _, err := hashes.New(s.streams).Claim(ctx, request("a"), "one", late, eventstore.NoStream); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(2 * hashes.ClaimTimeout)
	url := s.create(t, request("b"), commands.CreateURL{LongURL: "https://example.com", CustomHash: "one"})

	ofA := s.history(t, audit.HistoryQuery{Hash: "one", Account: "a"})
	audittest.WantEntries(
		t, ofA.Entries, `hash.claimed.v1 by "a" claimed_by: <nil> -> `+late, `url.claim_abandoned.v1 by "foreign"`,
	)
	if abandoned := ofA.Entries[1]; abandoned.Actor != (audit.Actor{Kind: audit.ByForeign}) ||
		abandoned.Request != "" || abandoned.Batch != "" {
		t.Errorf("shows another account: %+v", abandoned)
	}
	if len(ofA.Links) != 0 {
		t.Errorf("links that were never created: %+v", ofA.Links)
	}
	ofB := s.history(t, audit.HistoryQuery{Hash: "one", Account: "b"})
	audittest.WantEntries(
		t, ofB.Entries, `hash.claimed.v1 by "b" claimed_by: <nil> -> `+url.ID,
		`url.created.v1 by "b" hash: <nil> -> one long_url: <nil> -> https://example.com`,
	)
	if all := s.history(t, audit.HistoryQuery{Hash: "one"}); len(all.Entries) != 4 ||
		all.Entries[1].Actor.Account != "b" {
		t.Errorf("to an operator: %v", audittest.LinesOf(all.Entries))
	}
	for hash, want := range map[string]domain.Kind{
		"one": domain.URLNotFound, "none": domain.URLNotFound, "n o n e": domain.InvalidHash,
	} {
		if _, err := s.History(ctx, audit.HistoryQuery{Hash: hash, Account: "c"}); domain.KindOf(err) != want {
			t.Errorf("history of %q to a stranger: %v", hash, err)
		}
	}
}

func TestReplayHistory(t *testing.T) {
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	other := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/other"})
	url := s.create(t, request("a"), commands.CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	click := func(visitor string, links ...string) {
		recorded := make([]clicks.Click, len(links))
		for i, link := range links {
			recorded[i] = clicks.Click{URLID: link, Visitor: visitor, At: commandstest.At}
		}
		_, err := s.store.Append(ctx, eventstore.Write{
			Stream: events.StreamClicks + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: []events.Event{events.ClicksRecorded{Clicks: recorded}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	click("v1", url.ID, other.ID, url.ID)
	s.mustEdit(t, "one", commands.EditURL{Note: new("changed")})
	click("v2", other.ID)
	click("v3", url.ID)

	var replayed []string
	err := s.Replay(ctx, s.history(t, audit.HistoryQuery{Hash: "one"}), func(e audit.Entry) error {
		replayed = append(replayed, e.Type+e.Actor.Visitor)
		if e.Link != url.ID {
			t.Errorf("entry of another link: %+v", e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hash.claimed.v1", "url.created.v1", "clicks.recorded.v1v1", "clicks.recorded.v1v1", "url.settings_changed.v1",
		"clicks.recorded.v1v3",
	}
	if !slices.Equal(replayed, want) {
		t.Errorf("replayed %v, want %v", replayed, want)
	}
}
