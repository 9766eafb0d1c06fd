package commands

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/audit"
	"linkledger/commands/audit/audittest"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/hashes"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events"
	"linkledger/events/eventstore"
)

const generatedDestination = "https://example.com/generated"

func (s *stack) delete(t *testing.T, hash string) {
	t.Helper()
	if err := s.DeleteURLs(t.Context(), request("a"), []linkwrite.Ref{{Hash: hash}})[0].Err; err != nil {
		t.Fatal(err)
	}
}

// TestGeneratedHash follows a link that lives in the stream of its hash: other links claim and
// release the hash in the same stream.
func TestGeneratedHash(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	first := s.create(t, request("a"), CreateURL{LongURL: generatedDestination})
	hash := first.Hash
	s.wantTypes(t, "hash-"+hash, "url.created.v2")
	s.wantTypes(t, "url-"+first.ID)
	take := func(account string) linkwrite.Outcome {
		return s.CreateURLs(
			t.Context(), request(account), []CreateURL{{LongURL: generatedDestination, CustomHash: hash}},
		).Items[0]
	}
	wantTaken := func(account string) {
		t.Helper()
		if err := take(account).Err; domain.KindOf(err) != domain.HashUnavailable {
			t.Errorf("account %s took the hash: %v", account, err)
		}
	}
	wantTaken("a")
	wantTaken("b")
	s.mustEdit(t, hash, EditURL{CustomHash: new("away")})
	wantTaken("b")
	second := take("a")
	if second.Err != nil {
		t.Fatal(second.Err)
	}
	s.wantTypes(t, "url-"+second.URL.ID, "url.created.v1")
	s.delete(t, hash)
	wantTaken("b")
	s.mustEdit(t, "away", EditURL{CustomHash: &hash})
	s.delete(t, hash)
	restored := s.RestoreURL(t.Context(), request("a"), restoring.RestoreURL{Hash: hash})
	if restored.Err != nil || restored.URL.ID != first.ID || !restored.URL.Live() || restored.URL.Hash != hash {
		t.Fatalf("restored: %+v", restored)
	}
	s.wantTypes(
		t, "hash-"+hash, "url.created.v2", "url.renamed.v1", "hash.released.v1", "hash.claimed.v1", "hash.released.v1",
		"hash.claimed.v1", "url.renamed.v1", "url.deleted.v1", "hash.released.v1", "hash.claimed.v1", "url.restored.v1",
	)

	history := s.history(t, audit.HistoryQuery{Hash: hash})
	audittest.WantEntries(
		t, history.Entries,
		`url.created.v2 by "a" hash: <nil> -> `+hash+` long_url: <nil> -> `+generatedDestination,
		`url.renamed.v1 by "a" hash: `+hash+` -> away`,
		`hash.released.v1 by "a" claimed_by: `+first.ID+` -> <nil>`,
		`hash.claimed.v1 by "a" claimed_by: <nil> -> `+second.URL.ID,
		`url.created.v1 by "a" hash: <nil> -> `+hash+` long_url: <nil> -> `+generatedDestination,
		`url.deleted.v1 by "a" deleted: false -> true`,
		`hash.released.v1 by "a" claimed_by: `+second.URL.ID+` -> <nil>`,
		`hash.claimed.v1 by "a" claimed_by: <nil> -> `+first.ID,
		`url.renamed.v1 by "a" hash: away -> `+hash,
		`url.deleted.v1 by "a" deleted: false -> true`,
		`hash.released.v1 by "a" claimed_by: `+first.ID+` -> <nil>`,
		`hash.claimed.v1 by "a" claimed_by: <nil> -> `+first.ID,
		`url.restored.v1 by "a" deleted: true -> false`,
	)
	if len(history.Links) != 2 || history.Links[0].ID != first.ID || history.Links[1].ID != second.URL.ID {
		t.Errorf("links %+v", history.Links)
	}
	logged, _, err := s.LoggedHistory(t.Context(), audit.HistoryQuery{Hash: hash})
	if err != nil || len(logged.Entries) != len(history.Entries) {
		t.Errorf("from the log: %d entries, %v", len(logged.Entries), err)
	}
}

// TestGeneratedHashIsTaken repeats a command whose first hash belongs to another link.
func TestGeneratedHashIsTaken(t *testing.T) {
	t.Parallel()
	takers := map[string]func(*testing.T, *stack, string){
		"by a custom hash": func(t *testing.T, s *stack, hash string) {
			t.Helper()
			s.create(t, request("b"), CreateURL{LongURL: longDestination, CustomHash: hash})
		},
		"by a generated hash": func(t *testing.T, s *stack, hash string) {
			t.Helper()
			item := CreateURL{LongURL: longDestination}
			_, err := s.Handler.create(t.Context(), request("b"), newGenerated(hash), item, domain.Tags{}, nil)
			if err != nil {
				t.Fatal(err)
			}
		},
		"by an abandoned creation": func(t *testing.T, s *stack, hash string) {
			t.Helper()
			commandstest.AppendAll(
				t, s.store, events.StreamHash+hash, eventstore.NoStream, events.CreationAbandoned{At: commandstest.At},
			)
		},
	}
	for name, take := range takers {
		for _, unique := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, r := newStack(t), request("a")
				r.Command, r.Repeated = uuid.New(), true
				taken := hashes.GenerateFor(r.Item(0).Command, 0)
				take(t, s, taken)
				item := CreateURL{LongURL: longDestination, Unique: unique}
				made := s.create(t, r, item)
				if made.Hash == taken || made.Account != "a" {
					t.Errorf("made %+v with the taken hash", made)
				}
				if again := s.create(t, r, item); again.ID != made.ID {
					t.Errorf("the repeat made %s, before %s", again.ID, made.ID)
				}
			})
		}
	}
}

// TestLateRelease checks that a release that comes late does not free a hash that the link has
// claimed again.
func TestLateRelease(t *testing.T) {
	t.Parallel()
	for name, custom := range map[string]string{"generated": "", "chosen": "chosen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			link := s.create(t, request("a"), CreateURL{LongURL: longDestination, CustomHash: custom})
			s.mustEdit(t, link.Hash, EditURL{CustomHash: new("away")})
			s.mustEdit(t, "away", EditURL{CustomHash: &link.Hash})
			if err := s.hashes.Release(t.Context(), request("a"), link.Hash, link.ID, 0); err != nil {
				t.Fatal(err)
			}
			second := s.CreateURLs(
				t.Context(), request("a"), []CreateURL{{LongURL: longDestination, CustomHash: link.Hash}},
			).Items[0]
			if domain.KindOf(second.Err) != domain.HashUnavailable {
				t.Errorf("the hash has two links: %v", second.Err)
			}
		})
	}
}

// TestHashOfAbandonedCreation takes the hash of a creation that was abandoned before it came.
func TestHashOfAbandonedCreation(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	late := newGenerated("abcdefg")
	commandstest.AppendAll(
		t, s.store, late.stream(), eventstore.NoStream, events.CreationAbandoned{At: commandstest.At},
	)
	item := CreateURL{LongURL: longDestination}
	if _, err := s.Handler.create(t.Context(), request("a"), late, item, domain.Tags{}, nil); err == nil {
		t.Error("the abandoned link was created")
	}
	s.create(t, request("b"), CreateURL{LongURL: longDestination, CustomHash: late.hash})
}
