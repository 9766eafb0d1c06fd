package commands

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/commands/audit"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/commands/domain/undo"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events"
	"linkledger/events/eventstore"
)

func (s *stack) restore(t *testing.T, hash string, version *int64) (domain.Link, error) {
	t.Helper()
	outcome := s.RestoreURL(t.Context(), request("a"), restoring.RestoreURL{Hash: hash, Version: version})
	return outcome.URL, outcome.Err
}

func (s *stack) mustDelete(t *testing.T, hash string) {
	t.Helper()
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash(hash))[0].Err; err != nil {
		t.Fatal(err)
	}
}

// recordOf returns the fields of a link that clients see, except the times.
func recordOf(u domain.Link) map[string]any {
	fields := undo.FieldsOf(u)
	fields["tags"] = slices.Concat([]string{}, u.Tags)
	return fields
}

func wantRecord(t fatalf, got, want domain.Link) {
	t.Helper()
	if r, w := recordOf(got), recordOf(want); !reflect.DeepEqual(r, w) {
		t.Fatalf("the link is\n%v, want\n%v", r, w)
	}
}

type fatalf interface {
	Helper()
	Fatalf(format string, args ...any)
}

func TestRestoreDeleted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	made := s.create(
		t, request("a"),
		CreateURL{
			LongURL: "https://example.com/1", CustomHash: "one", Note: "n", Tags: []string{"red"},
			Settings: events.Settings{MaxClicks: 5},
		},
	)
	s.mustDelete(t, "one")
	if _, err := s.edit(t, request("a"), "one", EditURL{Note: new("x")}); domain.KindOf(err) != domain.URLNotFound {
		t.Fatalf("edit of a deleted link: %v", err)
	}
	for range 2 { // the second call has nothing to do
		outcome := s.RestoreURL(t.Context(), request("a"), restoring.RestoreURL{Hash: "one"})
		if outcome.Err != nil || outcome.Position.Commit == 0 || !slices.Equal(outcome.Labels, []string{"red"}) {
			t.Fatalf("restored: %+v", outcome)
		}
		wantRecord(t, outcome.URL, made)
	}
	s.wantTypes(t, events.LinkStream(made.ID), "url.created.v1", "url.deleted.v1", "url.restored.v1")
	s.wantTypes(t, "hash-one", "hash.claimed.v1", "hash.released.v1", "hash.claimed.v1")
	s.mustEdit(t, "one", EditURL{Note: new("lives")})
	if err := s.CreateURLs(
		t.Context(), request("b"), []CreateURL{{LongURL: "https://example.com", CustomHash: "one"}},
	).Items[0].Err; domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("the hash of a restored link, for another account: %v", err)
	}
	life := s.history(t, audit.HistoryQuery{Hash: "one"}).Links[0]
	if len(life.Tenures) != 2 || !life.DeletedAt.IsZero() {
		t.Errorf("its events: %+v", life)
	}
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	s.mustDelete(t, "one")
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/2", CustomHash: "one"})
	s.create(t, request("a"), CreateURL{LongURL: "https://gone.example/", CustomHash: "blocked"})
	s.mustDelete(t, "blocked")
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/3", CustomHash: "moved"})
	s.mustEdit(t, "moved", EditURL{CustomHash: new("away")})
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/4", CustomHash: "moved"})
	s.build(Config{Destinations: destination.Rules{
		Blocked: func(host string) bool { return host == "gone.example" },
	}}, nil)
	for name, test := range map[string]struct {
		hash    string
		version *int64
		want    domain.Kind
	}{
		"given to another link":       {"one", nil, domain.HashUnavailable},
		"former hash is taken":        {"away", new(int64(0)), domain.HashUnavailable},
		"no such version":             {"away", new(int64(2)), domain.InvalidValue},
		"negative version":            {"away", new(int64(-1)), domain.InvalidValue},
		"version in which it is gone": {"blocked", new(int64(1)), domain.InvalidValue},
		"blocked meanwhile":           {"blocked", nil, domain.URLNotAllowed},
		"never was":                   {"none", nil, domain.URLNotFound},
		"no hash":                     {"n o", nil, domain.InvalidHash},
	} {
		if _, err := s.restore(t, test.hash, test.version); domain.KindOf(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.RestoreURL(t.Context(), request("b"), restoring.RestoreURL{Hash: "blocked"}).Err; domain.KindOf(
		err,
	) != domain.URLNotFound {
		t.Errorf("by another account: %v", err)
	}
	s.mustDelete(t, "one")
	for range 2 { // the link deleted last, although there is another deleted one
		if url, err := s.restore(t, "one", nil); err != nil || url.LongURL != "https://example.com/2" {
			t.Errorf("deleted last: %+v, %v", url, err)
		}
	}
	s.mustEdit(t, "one", EditURL{CustomHash: new("other")}) // frees the hash for the deleted link
	if url, err := s.restore(t, "one", nil); err != nil || url.LongURL != "https://example.com/1" {
		t.Errorf("after the hash was freed: %+v, %v", url, err)
	}
	if found, err := s.LinkAsOf(
		t.Context(), audit.AsOfQuery{Hash: "one", Time: s.clock.AddDate(100, 0, 0)},
	); err != nil || found.Link.LongURL != "https://example.com/1" {
		t.Errorf("now the hash leads to %+v, %v", found.Link, err)
	}
}

// TestRestoreByOperator checks that an operator can restore a link for its account, and that the
// history names the operator as the actor.
func TestRestoreByOperator(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	s.mustDelete(t, "one")
	r := domain.Request{Operator: true, Command: uuid.New()}
	if outcome := s.RestoreURL(t.Context(), r, restoring.RestoreURL{Hash: "one"}); outcome.Err != nil ||
		outcome.URL.Account != "a" {
		t.Fatalf("restored: %+v", outcome)
	}
	entries := s.history(t, audit.HistoryQuery{Hash: "one"}).Entries
	for _, e := range entries[len(entries)-2:] {
		if e.Actor.Kind != audit.ByOperator {
			t.Errorf("%s by %+v", e.Type, e.Actor)
		}
	}
	s.mustEdit(t, "one", EditURL{Note: new("still of its account")})
}

// TestHashStaysWithItsAccount checks that a hash that an account's links have left stays with the
// account, even if a later claim of the hash was never used.
func TestHashStaysWithItsAccount(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one"})
	s.mustDelete(t, "one")
	if _, err := s.hashes.Claim(t.Context(), request("a"), "one", uuid.NewString(), eventstore.NoStream); err != nil {
		t.Fatal(err)
	}
	s.clock = s.clock.Add(2 * hashes.ClaimTimeout)
	if err := s.CreateURLs(
		t.Context(), request("b"), []CreateURL{{LongURL: "https://example.com", CustomHash: "one"}},
	).Items[0].Err; domain.KindOf(err) != domain.HashUnavailable {
		t.Errorf("another account: %v", err)
	}
	if _, err := s.restore(t, "one", nil); err != nil {
		t.Errorf("its own: %v", err)
	}
}

// TestRestoredIsTheVersion checks, after random changes, that a link restored to a version equals
// the fold of its stream up to that version, and that a second restoration appends no event.
func TestRestoredIsTheVersion(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	rapid.Check(t, func(rt *rapid.T) {
		hash := "h" + uuid.NewString()[:12]
		made := s.create(
			t, request("a"), CreateURL{LongURL: "https://example.com/", CustomHash: hash, Tags: []string{"a", "b"}},
		)
		for i := range rapid.IntRange(0, 8).Draw(rt, "changes") {
			number := strconv.Itoa(i)
			var edit EditURL
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				edit.LongURL, edit.Note = new("https://example.com/"+number), new(number)
			case 1:
				edit.ExpirationDate, edit.Archived, edit.Ping = new(
					"2027-01-0"+strconv.Itoa(i+1),
				), new(i%2 == 0), new(i%3 == 0)
			case 2:
				edit.Tags = []string{"-a", "+c"}
			case 3:
				edit.Tags = []string{"-b", "+a"}
			case 4:
				hash2 := "h" + uuid.NewString()[:12]
				edit.CustomHash = &hash2
			}
			url, err := s.edit(t, request("a"), hash, edit)
			if err != nil {
				rt.Fatal(err)
			}
			hash = url.Hash
		}
		if rapid.Bool().Draw(rt, "deleted") {
			s.mustDelete(t, hash)
		}
		loaded, err := s.streams.Load(t.Context(), events.LinkStream(made.ID))
		if err != nil {
			rt.Fatal(err)
		}
		version := rapid.Int64Range(0, int64(loaded.Revision())).Draw(rt, "version")
		want := domain.FoldLink(loaded.Events[:version+1])
		if want.Deleted {
			return
		}
		var position eventstore.Position
		for again := range 2 {
			outcome := s.RestoreURL(t.Context(), request("a"), restoring.RestoreURL{Hash: hash, Version: &version})
			if outcome.Err != nil {
				rt.Fatal(outcome.Err)
			}
			if again == 1 && outcome.Position != position {
				rt.Fatal("the second time there was something to do")
			}
			hash, position = outcome.URL.Hash, outcome.Position
		}
		if loaded, err = s.streams.Load(t.Context(), events.LinkStream(made.ID)); err != nil {
			rt.Fatal(err)
		}
		wantRecord(rt, domain.FoldLink(loaded.Events), want)
	})
}
