package commands

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linkledger/commands/linkwrite"
	"linkledger/commands/permit"
	"linkledger/commands/restoring"
	"linkledger/events/eventstore"
)

// TestNoCommandGoesOnWithoutItsPermit checks that a command of a caller who has lost their rights
// appends nothing, whichever it is, and that each item says why.
func TestNoCommandGoesOnWithoutItsPermit(t *testing.T) {
	t.Parallel()
	ended := errors.New("the key has been revoked")
	for name, run := range map[string]func(ctx context.Context, s *permitted) []error{
		"create": func(ctx context.Context, s *permitted) []error {
			return errorsOf(s.CreateURLs(ctx, request("a"), []CreateURL{
				{LongURL: "https://example.com/3"},
				{LongURL: "https://example.com/3", CustomHash: "three"},
				{LongURL: "https://example.com/3", Unique: true},
				{LongURL: "https://example.com/3", Tags: []string{"new"}},
			}).Items)
		},
		"edit": func(ctx context.Context, s *permitted) []error {
			return errorsOf(s.EditURLs(ctx, request("a"), []EditURL{
				{Ref: linkwrite.Ref{Hash: "one"}, Note: new("x")}, {Ref: linkwrite.Ref{Hash: "two"}, CustomHash: new("three")},
			}).Items)
		},
		"tag": func(ctx context.Context, s *permitted) []error {
			_, err := s.CreateTag(ctx, request("a"), "x")
			return []error{err}
		},
		"rename": func(ctx context.Context, s *permitted) []error {
			_, err := s.RenameTag(ctx, request("a"), "t", "x")
			return []error{err}
		},
		"untag": func(ctx context.Context, s *permitted) []error {
			_, err := s.DeleteTag(ctx, request("a"), "t")
			return []error{err}
		},
		"delete": func(ctx context.Context, s *permitted) []error {
			return errorsOf(s.DeleteURLs(ctx, request("a"), linkwrite.ByHash("one", "two")))
		},
		"reset": func(ctx context.Context, s *permitted) []error {
			return errorsOf(s.ResetStats(ctx, request("a"), linkwrite.ByHash("one", "two")))
		},
		"restore": func(ctx context.Context, s *permitted) []error {
			return []error{s.RestoreURL(ctx, request("a"), restoring.RestoreURL{Hash: "gone"}).Err}
		},
		"undo": func(ctx context.Context, s *permitted) []error {
			return errorsOf(s.Undo(ctx, toUndo(ownBatch("a"), "batch"), []string{s.one}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &permitted{stack: newStack(t)}
			s.one = s.create(t, request("a"), CreateURL{LongURL: "https://example.com/1", CustomHash: "one", Tags: []string{"t"}}).ID
			s.create(t, request("a"), CreateURL{LongURL: "https://example.com/2", CustomHash: "two"})
			s.create(t, request("a"), CreateURL{LongURL: "https://example.com/", CustomHash: "gone"})
			if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("gone"))[0].Err; err != nil {
				t.Fatal(err)
			}
			before := s.head(t)
			ctx := permit.With(t.Context(), permit.New(func(context.Context) (bool, error) { return true, ended }))
			for permit.Refused(ctx) == nil { // until the check at the login counts no more
				_ = permit.Check(ctx)
			}
			for i, err := range run(ctx, s) {
				if !errors.Is(err, ended) {
					t.Errorf("item %d: %v", i, err)
				}
			}
			if after := s.head(t); after != before {
				t.Errorf("something was appended: the log ended at %v and ends at %v", before, after)
			}
		})
	}
}

// TestListStopsWhereThePermitEnds ends the rights of a caller in the middle of a list: what is done
// stays done, and each other item says why it is not.
func TestListStopsWhereThePermitEnds(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ended := errors.New("the key has been revoked")
	checks := 0
	ctx := permit.With(t.Context(), permit.New(func(context.Context) (bool, error) {
		if checks++; checks > 3 {
			return true, ended
		}
		return false, nil
	}))
	var done, refused int
	for refused == 0 {
		items := make([]CreateURL, 200)
		for i := range items {
			items[i].LongURL = "https://example.com/"
		}
		for _, outcome := range s.CreateURLs(ctx, request("a"), items).Items {
			switch {
			case outcome.Err == nil:
				done++
			case errors.Is(outcome.Err, ended):
				refused++
			default:
				t.Fatal(outcome.Err)
			}
		}
	}
	created := 0
	if err := s.store.ReadLog(t.Context(), eventstore.Position{}, s.head(t), func(all []eventstore.Recorded) error {
		for _, e := range all {
			if strings.HasPrefix(e.Type, "url.created") {
				created++
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if created != done || refused == 0 {
		t.Errorf("%d links were created; answered were %d and %d refusals", created, done, refused)
	}
}

// permitted is a stack with a link.
type permitted struct {
	*stack

	one string // id of the link
}

func (s *stack) head(t *testing.T) eventstore.Position {
	t.Helper()
	head, err := s.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func errorsOf(outcomes []linkwrite.Outcome) []error {
	errs := make([]error, len(outcomes))
	for i, outcome := range outcomes {
		errs[i] = outcome.Err
	}
	return errs
}
