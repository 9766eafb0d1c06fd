package restoring_test

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/commands/streams"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

func request() domain.Request {
	return domain.Request{Account: "a", Batch: uuid.NewString(), Command: uuid.New()}
}

// newLinks returns commands on a private event store, with a link under the hash "one".
func newLinks(t *testing.T, r domain.Request) (*commands.Handler, domain.Link) {
	t.Helper()
	h := commands.NewHandler(commands.Config{Streams: streams.New(streams.Config{Store: eventstoretest.New(t)})})
	made := h.CreateURLs(t.Context(), r, []commands.CreateURL{
		{LongURL: "https://example.com/1", CustomHash: "one", Note: "first"},
	}).Items[0]
	if made.Err != nil {
		t.Fatal(made.Err)
	}
	return h, made.URL
}

func annotate(t *testing.T, h *commands.Handler, r domain.Request, note string) {
	t.Helper()
	edit := commands.EditURL{Ref: linkwrite.Ref{Hash: "one"}, Note: &note}
	if err := h.EditURLs(t.Context(), r, []commands.EditURL{edit}).Items[0].Err; err != nil {
		t.Fatal(err)
	}
}

// TestRestoreURL restores a version of a link, and a deleted link as long as its hash is free.
func TestRestoreURL(t *testing.T) {
	t.Parallel()
	h, made := newLinks(t, request())
	annotate(t, h, request(), "second")
	restore := func(version *int64) linkwrite.Outcome {
		return h.RestoreURL(t.Context(), request(), restoring.RestoreURL{Hash: "one", Version: version})
	}
	if was := restore(new(int64(0))); was.Err != nil || was.URL.Note != "first" || !was.Changed {
		t.Errorf("version 0 is %+v", was)
	}
	if was := restore(new(int64(9))); domain.KindOf(was.Err) != domain.InvalidValue {
		t.Errorf("a version that does not exist: %v", was.Err)
	}
	other := request()
	other.Account = "b"
	if was := h.RestoreURL(t.Context(), other, restoring.RestoreURL{Hash: "one"}); domain.KindOf(was.Err) != domain.URLNotFound {
		t.Errorf("the link of another account: %v", was.Err)
	}
	if err := h.DeleteURLs(t.Context(), request(), linkwrite.ByHash("one"))[0].Err; err != nil {
		t.Fatal(err)
	}
	if was := restore(nil); was.Err != nil || !was.URL.Live() || was.URL.ID != made.ID {
		t.Errorf("the deleted link is %+v", was)
	}
	if err := h.DeleteURLs(t.Context(), request(), linkwrite.ByHash("one"))[0].Err; err != nil {
		t.Fatal(err)
	}
	given := h.CreateURLs(t.Context(), request(), []commands.CreateURL{
		{LongURL: "https://example.com/2", CustomHash: "one"},
	}).Items[0]
	if given.Err != nil {
		t.Fatal(given.Err)
	}
	if was := restore(nil); domain.KindOf(was.Err) != domain.HashUnavailable {
		t.Errorf("the hash of another link: %+v", was)
	}
}

// TestUndo takes back an edit and a creation, and refuses what others have changed since.
func TestUndo(t *testing.T) {
	t.Parallel()
	creation, edit := request(), request()
	h, made := newLinks(t, creation)
	annotate(t, h, edit, "second")
	undo := func(batch string) linkwrite.Outcome {
		r := request()
		r.Undoes = domain.Undone{Batch: batch}
		return h.Undo(t.Context(), r, []string{made.ID})[0]
	}
	if was := undo(creation.Batch); domain.KindOf(was.Err) != domain.URLChanged || was.URL.Note != "second" {
		t.Errorf("a creation before an edit: %+v", was)
	}
	if was := undo(edit.Batch); was.Err != nil || was.URL.Note != "first" {
		t.Errorf("an edit: %+v", was)
	}
	if was := undo(edit.Batch); was.Err != nil || was.Changed {
		t.Errorf("an edit, once more: %+v", was)
	}
	if was := undo("of nobody"); was.Err != nil || was.Changed {
		t.Errorf("a call that changed nothing: %+v", was)
	}
}
