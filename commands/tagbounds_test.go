package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/events"
	"linkledger/internal/soak"
)

// labels returns n different labels.
func labels(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = prefix + strconv.Itoa(i)
	}
	return all
}

func wantTooMany(t *testing.T, err error, says string) {
	t.Helper()
	if domain.KindOf(err) != domain.InvalidLabel || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want it refused because of %q", err, says)
	}
}

const (
	linkIsFull    = "A URL has at most 100 tags"
	accountIsFull = "An account has at most 10000 tags"
)

func TestNewLinkHasAtMost100Tags(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	outcome := s.CreateURLs(t.Context(), request("a"), []CreateURL{
		{LongURL: "https://example.com/1", Tags: labels("one ", domain.MaxLinkTags+1)},
		{LongURL: "https://example.com/2", Tags: append(labels("two ", domain.MaxLinkTags), "TWO 1", " two 2 ")},
	})
	wantTooMany(t, outcome.Items[0].Err, linkIsFull)
	if second := outcome.Items[1]; second.Err != nil || len(second.Labels) != domain.MaxLinkTags {
		t.Errorf("with 100 tags: %d labels, %v", len(second.Labels), second.Err)
	}
	if tags := s.types(t, "tags-a"); len(tags) != domain.MaxLinkTags {
		t.Errorf("%d tags were created", len(tags))
	}
}

func TestLinkGetsAtMost100Tags(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.create(
		t, request("a"),
		CreateURL{LongURL: "https://example.com/", CustomHash: "one", Tags: labels("t", domain.MaxLinkTags-1)},
	)
	edit := func(tags ...string) (domain.Link, error) { return s.edit(t, request("a"), "one", EditURL{Tags: tags}) }
	if _, err := edit("+full"); err != nil {
		t.Fatal(err)
	}
	_, err := edit("+more")
	wantTooMany(t, err, linkIsFull)
	_, err = edit("+more", "+still more", "-full")
	wantTooMany(t, err, linkIsFull)
	if url, err := edit("+more", "-full", "t1", "-FULL"); err != nil || len(url.Tags) != domain.MaxLinkTags {
		t.Errorf("in place of another tag: %d tags, %v", len(url.Tags), err)
	}
	if _, err := edit("t1", "+T2"); err != nil {
		t.Errorf("tags that it has: %v", err)
	}
	_, err = edit(labels("+other ", domain.MaxLinkTags+1)...)
	wantTooMany(t, err, linkIsFull)
	if _, err := s.CreateTag(t.Context(), request("a"), "other 0"); err != nil {
		t.Fatal(err)
	}
	if all := s.types(t, "tags-a"); len(all) != domain.MaxLinkTags+3 { // more, still more, and other 0
		t.Errorf("%d tags: an edit created some although it was refused", len(all))
	}
}

// TestDeletedTagsDoNotCount checks that deleted tags do not count towards the bound, and that they
// do not accumulate in the link's stream.
func TestDeletedTagsDoNotCount(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(
		t, request("a"),
		CreateURL{LongURL: "https://example.com/", CustomHash: "one", Tags: labels("t", domain.MaxLinkTags)},
	)
	for _, label := range labels("t", 10) {
		if _, err := s.DeleteTag(t.Context(), request("a"), label); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.edit(t, request("a"), "one", EditURL{Tags: labels("new ", 11)})
	wantTooMany(t, err, linkIsFull)
	outcome := s.EditURLs(
		t.Context(), request("a"), []EditURL{{Ref: linkwrite.Ref{Hash: "one"}, Tags: labels("new ", 10)}},
	).Items[0]
	if outcome.Err != nil || len(outcome.Labels) != domain.MaxLinkTags || len(outcome.URL.Tags) != domain.MaxLinkTags {
		t.Errorf("%d labels of %d tags, %v", len(outcome.Labels), len(outcome.URL.Tags), outcome.Err)
	}
	s.wantTypes(t, events.LinkStream(url.ID), "url.created.v1", "url.tagged.v1", "url.untagged.v1")
}

// TestLinkWithMoreTagsThanAllowed checks that a link from before the bound can lose tags and cannot
// gain any, and that undoing and restoring return all tags that it had.
func TestLinkWithMoreTagsThanAllowed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	id := taggedLink(t, s.store, 200, 150)
	edit := func(tags ...string) (domain.Link, error) { return s.edit(t, request("a"), "one", EditURL{Tags: tags}) }
	_, err := edit("+tag 199")
	wantTooMany(t, err, linkIsFull)
	_, err = edit("+tag 199", "-tag 0")
	wantTooMany(t, err, linkIsFull)
	if _, err := edit("+tag 5"); err != nil {
		t.Errorf("a tag that it has: %v", err)
	}
	if _, err := s.edit(t, request("a"), "one", EditURL{Note: new("noted")}); err != nil {
		t.Errorf("a note: %v", err)
	}
	r := ownBatch("a")
	if url, err := s.edit(t, r, "one", EditURL{Tags: []string{"-tag 0", "-tag 1"}}); err != nil ||
		len(url.Tags) != 148 {
		t.Errorf("without two of them: %d tags, %v", len(url.Tags), err)
	}
	if outcome := s.undo(t, r.Batch, id); outcome.Err != nil || len(outcome.URL.Tags) != 150 {
		t.Errorf("undone: %d tags, %v", len(outcome.URL.Tags), outcome.Err)
	}
	if err := s.DeleteURLs(t.Context(), request("a"), linkwrite.ByHash("one"))[0].Err; err != nil {
		t.Fatal(err)
	}
	for _, version := range []*int64{nil, new(int64(0))} {
		if outcome := s.RestoreURL(
			t.Context(), request("a"), restoring.RestoreURL{Hash: "one", Version: version},
		); outcome.Err != nil || len(outcome.Labels) != 150 {
			t.Errorf("restored: %d labels, %v", len(outcome.Labels), outcome.Err)
		}
	}
}

// TestUndoKeepsToTheBound checks that an undo that would exceed the bound, because tags were added
// since, leaves the link unchanged.
func TestUndoKeepsToTheBound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	url := s.create(
		t, request("a"),
		CreateURL{LongURL: "https://example.com/", CustomHash: "one", Tags: labels("t", domain.MaxLinkTags)},
	)
	r := ownBatch("a")
	if _, err := s.edit(t, r, "one", EditURL{Tags: []string{"-t0"}}); err != nil {
		t.Fatal(err)
	}
	s.mustEdit(t, "one", EditURL{Tags: []string{"+new"}})
	wantChanged(t, s.undo(t, r.Batch, url.ID), "tags")
	s.mustEdit(t, "one", EditURL{Tags: []string{"-t1"}})
	if outcome := s.undo(t, r.Batch, url.ID); outcome.Err != nil || len(outcome.URL.Tags) != domain.MaxLinkTags {
		t.Errorf("below the bound: %d tags, %v", len(outcome.URL.Tags), outcome.Err)
	}
}

// fill gives an account this many tags, with labels from "tag 0" on.
func (s *stack) fill(t *testing.T, tags int) {
	t.Helper()
	taggedLink(t, s.store, tags, 1)
}

func TestAccountHasAtMost10000Tags(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	s.fill(t, domain.MaxAccountTags-1)
	long := "https://example.com/"
	batch := request("a")
	batch.Repeated = true
	for range 2 { // the call and its repeat
		items := s.CreateURLs(ctx, batch, []CreateURL{
			{LongURL: long, Tags: []string{"new 1", "new 2"}},
			{LongURL: long, Tags: []string{"tag 1", "NEW 3"}},
			{LongURL: long, Tags: []string{"new 4"}},
			{LongURL: long, Tags: []string{"tag 1", "new 3"}},
			{LongURL: long},
		}).Items
		for i, refused := range []bool{true, false, true, false, false} {
			if refused {
				wantTooMany(t, items[i].Err, accountIsFull)
			} else if items[i].Err != nil || len(items[i].URL.Tags) != []int{0, 2, 0, 2, 0}[i] {
				t.Errorf("item %d: %+v", i, items[i])
			}
		}
	}
	edits := s.EditURLs(ctx, request("a"), []EditURL{
		{Ref: linkwrite.Ref{Hash: "one"}, Tags: []string{"+new 5"}}, {Ref: linkwrite.Ref{Hash: "one"}, Tags: []string{"+tag 7", "-tag 0"}},
	}).Items
	wantTooMany(t, edits[0].Err, accountIsFull)
	if edits[1].Err != nil || !slices.Equal(edits[1].Labels, []string{"tag 7"}) {
		t.Errorf("with existing tags: %+v", edits[1])
	}
	_, err := s.CreateTag(ctx, request("a"), "new 6")
	wantTooMany(t, err, accountIsFull)
	if found, err := s.CreateTag(ctx, request("a"), "TAG 5"); err != nil || found.Tag.Label != "tag 5" {
		t.Errorf("an existing tag: %+v, %v", found, err)
	}
	if _, err := s.RenameTag(ctx, request("a"), "tag 5", "renamed"); err != nil {
		t.Error(err)
	}
	if _, err := s.DeleteTag(ctx, request("a"), "tag 6"); err != nil {
		t.Error(err)
	}
	if _, err := s.CreateTag(ctx, request("a"), "new 6"); err != nil {
		t.Errorf("in place of another tag: %v", err)
	}
}

func TestTagBoundsHoldUnderConcurrency(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	s, ctx := newStack(t), t.Context()
	s.fill(t, domain.MaxAccountTags-3)
	var made, attached atomic.Int64
	commandstest.Together(8, func(i int) {
		_, err := s.CreateTag(ctx, request("a"), fmt.Sprintf("new %d", i))
		if err == nil {
			made.Add(1)
			return
		}
		wantTooMany(t, err, accountIsFull)
	})
	if made.Load() != 3 {
		t.Errorf("%d tags were created where 3 were allowed", made.Load())
	}
	url := s.create(
		t, request("a"),
		CreateURL{LongURL: "https://example.com/", CustomHash: "two", Tags: labels("tag ", domain.MaxLinkTags-5)},
	)
	commandstest.Together(8, func(i int) {
		_, err := s.edit(t, request("a"), "two", EditURL{Tags: []string{fmt.Sprintf("+tag %d", 200+i)}})
		if err == nil {
			attached.Add(1)
			return
		}
		wantTooMany(t, err, linkIsFull)
	})
	if url, _ := s.mustLoad(t, url.ID); attached.Load() != 5 || len(url.Tags) != domain.MaxLinkTags {
		t.Errorf("%d tags were attached where 5 were allowed, the link has %d", attached.Load(), len(url.Tags))
	}
}
