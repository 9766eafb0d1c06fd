package commands

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/audit"
	"linkledger/commands/clicklimit"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/linkquota"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

// cutStack is a service whose event store can be written to from outside.
type cutStack struct {
	*stack
	url  string
	link domain.Link
}

func newCutStack(t *testing.T) *cutStack {
	t.Helper()
	server := eventstoretest.Serve(t)
	s := &cutStack{
		stack: &stack{store: eventstoretest.Open(t, server.URL()), clock: commandstest.At}, url: server.URL(),
	}
	now := func() time.Time { return s.clock }
	quotas := linkquota.New(
		linkquota.Config{Store: s.store, Now: now, Existing: (&limitedNodes{store: s.store}).existing},
	)
	s.build(Config{Quotas: quotas}, nil)
	r := request("a")
	s.link = s.create(t, r, CreateURL{LongURL: "https://example.com/", CustomHash: "one", Tags: []string{"x"}})
	for _, hash := range []string{"two", "one", "two", "one"} {
		if _, err := s.edit(t, request("a"), s.hash(), EditURL{CustomHash: &hash, Tags: []string{hash}}); err != nil {
			t.Fatal(err)
		}
		s.link.Hash = hash
	}
	return s
}

func (s *cutStack) hash() string { return s.link.Hash }

// attempt is a command that must fail with ErrCut. It must not succeed, and it must not be refused
// as if the cut events did not exist.
type attempt func(t *testing.T, s *cutStack) error

func editing(t *testing.T, s *cutStack) error {
	t.Helper()
	note := "note"
	_, err := s.edit(t, request("a"), "one", EditURL{Note: &note})
	return err
}

func editingByID(t *testing.T, s *cutStack) error {
	t.Helper()
	note := "note"
	return s.EditURLs(t.Context(), request("a"), []EditURL{{Ref: linkwrite.Ref{ID: s.link.ID}, Note: &note}}).Items[0].Err
}

func deleting(t *testing.T, s *cutStack) error {
	t.Helper()
	return s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("one"))[0].Err
}

func restores(t *testing.T, s *cutStack) error {
	t.Helper()
	version := int64(0)
	return s.RestoreURL(t.Context(), request("a"), restoring.RestoreURL{Hash: "one", Version: &version}).Err
}

func readingHistory(t *testing.T, s *cutStack) error {
	t.Helper()
	_, err := s.History(t.Context(), audit.HistoryQuery{Hash: "one"})
	return err
}

func readingAsOf(t *testing.T, s *cutStack) error {
	t.Helper()
	_, err := s.LinkAsOf(t.Context(), audit.AsOfQuery{Hash: "one", Time: time.Now().Add(time.Hour)})
	return err
}

// taking creates a link of another account with the hash, long after the hash was claimed.
func taking(t *testing.T, s *cutStack) error {
	t.Helper()
	s.clock = s.clock.Add(time.Hour)
	return s.CreateURLs(
		t.Context(), request("b"), []CreateURL{{LongURL: "https://example.org/", CustomHash: "one"}},
	).Items[0].Err
}

func finding(t *testing.T, s *cutStack) error {
	t.Helper()
	item := CreateURL{LongURL: "https://example.com/", CustomHash: "one", Unique: true}
	return s.CreateURLs(t.Context(), request("a"), []CreateURL{item}).Items[0].Err
}

func tagging(t *testing.T, s *cutStack) error {
	t.Helper()
	_, err := s.CreateTag(t.Context(), request("a"), "two")
	return err
}

func naming(t *testing.T, s *cutStack) error {
	t.Helper()
	_, err := s.RotateKey(t.Context(), request(""), "user")
	return err
}

func opening(t *testing.T, s *cutStack) error {
	t.Helper()
	_, err := s.Open(t.Context(), request(""), "user", "")
	return err
}

// TestCutHistories cuts each kind of stream in every way and checks that no command treats the
// remaining events as the whole stream.
func TestCutHistories(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	for family, tc := range map[string]struct {
		stream   func(t *testing.T, s *cutStack) string
		attempts []attempt
	}{
		"url": {
			func(_ *testing.T, s *cutStack) string { return events.LinkStream(s.link.ID) },
			[]attempt{editing, editingByID, deleting, restores, readingHistory, readingAsOf, finding},
		},
		"url of a hash that it never left": {
			func(t *testing.T, s *cutStack) string {
				t.Helper()
				s.link = s.create(t, request("a"), CreateURL{LongURL: "https://example.com/", CustomHash: "loyal"})
				note := "note"
				if _, err := s.edit(t, request("a"), "loyal", EditURL{Note: &note}); err != nil {
					t.Fatal(err)
				}
				return events.LinkStream(s.link.ID)
			},
			[]attempt{func(t *testing.T, s *cutStack) error {
				t.Helper()
				s.clock = s.clock.Add(time.Hour) // long after the claim
				item := CreateURL{LongURL: "https://example.org/", CustomHash: "loyal"}
				return s.CreateURLs(t.Context(), request("b"), []CreateURL{item}).Items[0].Err
			}},
		},
		"hash": {
			func(*testing.T, *cutStack) string { return events.StreamHash + "one" },
			[]attempt{editing, deleting, restores, readingHistory, readingAsOf, taking, finding},
		},
		"tags": {
			func(*testing.T, *cutStack) string { return events.StreamTags + "a" },
			[]attempt{tagging, readingHistory, readingAsOf},
		},
		"account": {func(t *testing.T, s *cutStack) string {
			t.Helper()
			opened, err := s.Open(t.Context(), request(""), "user", "")
			if err == nil {
				_, err = s.RotateKey(t.Context(), request(""), "user")
			}
			if err != nil {
				t.Fatal(err)
			}
			return events.StreamAccount + opened.Account.ID
		}, []attempt{naming, opening}},
		"longurl": {func(t *testing.T, s *cutStack) string {
			t.Helper()
			const long = "https://example.com/unique"
			for range 2 {
				found := s.create(t, request("a"), CreateURL{LongURL: long, Unique: true})
				if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash(found.Hash))[0].Err; err != nil {
					t.Fatal(err)
				}
			}
			sum := sha256.Sum256([]byte(long))
			return events.StreamLongURL + "a-" + hex.EncodeToString(sum[:])
		}, []attempt{func(t *testing.T, s *cutStack) error {
			t.Helper()
			item := CreateURL{LongURL: "https://example.com/unique", Unique: true}
			return s.CreateURLs(t.Context(), request("a"), []CreateURL{item}).Items[0].Err
		}}},
	} {
		for _, cut := range eventstoretest.Cuts() {
			t.Run(family+"/"+cut.Name, func(t *testing.T) {
				t.Parallel()
				s := newCutStack(t)
				cut.Apply(t, s.url, tc.stream(t, s))
				for i, attempt := range tc.attempts {
					if err := attempt(t, s); !errors.Is(err, ErrCut) {
						t.Errorf("attempt %d: %v", i, err)
					}
				}
			})
		}
	}
}

// TestCutUsername hides the one event of a user name and checks that no other account gets the
// name.
func TestCutUsername(t *testing.T) {
	t.Parallel()
	for _, cut := range eventstoretest.Cuts() {
		if !cut.Hides {
			continue
		}
		t.Run(cut.Name, func(t *testing.T) {
			t.Parallel()
			s := newCutStack(t)
			if err := opening(t, s); err != nil {
				t.Fatal(err)
			}
			cut.Apply(t, s.url, events.StreamUsername+"user")
			for i, attempt := range []attempt{opening, naming} {
				if err := attempt(t, s); !errors.Is(err, ErrCut) {
					t.Errorf("attempt %d: %v", i, err)
				}
			}
		})
	}
}

// TestCutCounters cuts the streams whose last event holds the whole state. While that event can be
// read, limits hold exactly. Otherwise nothing is granted.
func TestCutCounters(t *testing.T) {
	t.Parallel()
	for family, tc := range map[string]struct {
		stream func(s *cutStack) string
		// use consumes one unit of a limit of two. If the limit refuses, the error is
		// URLLimitReached.
		use func(t *testing.T, s *cutStack) error
	}{
		"allowance": {
			func(s *cutStack) string { return events.StreamAllowance + s.link.ID },
			func(t *testing.T, s *cutStack) error {
				t.Helper()
				node := clicklimit.New(s.store, nil) // a new node, which has read nothing
				granted, err := node.Take(t.Context(), s.link.ID, 2, 0)
				if left, missing := node.Left(t.Context(), s.link.ID, 2, 0); left && missing == nil && !granted {
					t.Error("Left reports a remaining click, but Take granted none")
				}
				if err == nil && !granted {
					err = domain.Refuse(domain.URLLimitReached, "none left")
				}
				return err
			},
		},
		"quota": {
			func(*cutStack) string { return events.StreamQuota + "a" },
			func(t *testing.T, s *cutStack) error {
				t.Helper()
				quotas := linkquota.New(
					linkquota.Config{Store: s.store, Existing: (&limitedNodes{store: s.store}).existing},
				)
				node := NewHandler(Config{Streams: streams.New(streams.Config{Store: s.store}), Quotas: quotas})
				r := request("a")
				r.Plan = domain.Plan{URLs: 3} // the stack has created one link already
				return node.CreateURLs(t.Context(), r, batchOf(1)).Items[0].Err
			},
		},
	} {
		for _, cut := range eventstoretest.Cuts() {
			t.Run(family+"/"+cut.Name, func(t *testing.T) {
				t.Parallel()
				s := newCutStack(t)
				for range 2 {
					if err := tc.use(t, s); err != nil {
						t.Fatal(err)
					}
				}
				cut.Apply(t, s.url, tc.stream(s))
				err := tc.use(t, s)
				if want := domain.KindOf(err) == domain.URLLimitReached; want == cut.Hides ||
					cut.Hides && !errors.Is(err, ErrCut) {
					t.Errorf("use of a limit: %v", err)
				}
			})
		}
	}
}

// TestRepeatedCreationOfDeletedStream repeats a creation whose stream was deleted. The event store
// takes the repeated append for the first one, but the command must fail.
func TestRepeatedCreationOfDeletedStream(t *testing.T) {
	t.Parallel()
	for _, cut := range eventstoretest.Cuts() {
		if !cut.Hides {
			continue
		}
		t.Run(cut.Name, func(t *testing.T) {
			t.Parallel()
			s := newCutStack(t)
			for _, unique := range []bool{false, true} {
				r := request("a")
				r.Command, r.Repeated = uuid.New(), true
				item := CreateURL{
					LongURL: "https://example.com/r", CustomHash: "r" + map[bool]string{true: "u"}[unique],
					Unique: unique,
				}
				created := s.create(t, r, item)
				cut.Apply(t, s.url, events.LinkStream(created.ID))
				if again := s.CreateURLs(t.Context(), r, []CreateURL{item}).Items[0]; !errors.Is(again.Err, ErrCut) {
					t.Errorf("unique %v: %+v", unique, again)
				}
			}
		})
	}
}
