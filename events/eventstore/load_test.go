package eventstore_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/metadata"
)

// TestCutStreams cuts a stream in every way. It checks that the remaining events are never taken
// for the whole stream, and that an append never continues as if the stream were new.
func TestCutStreams(t *testing.T) {
	t.Parallel()
	for _, cut := range eventstoretest.Cuts() {
		t.Run(cut.Name, func(t *testing.T) {
			t.Parallel()
			server := eventstoretest.Serve(t)
			store, ctx := eventstoretest.Open(t, server.URL()), t.Context()
			if _, err := store.Append(
				ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "a", "b", "c"),
			); err != nil {
				t.Fatal(err)
			}
			cut.Apply(t, server.URL(), "tags-a")

			if loaded, err := store.Load(ctx, "tags-a"); !errors.Is(err, eventstore.ErrCut) {
				t.Errorf("loaded %d events, %v", len(loaded), err)
			}
			last, err := store.Last(ctx, "tags-a")
			if cut.Hides != errors.Is(err, eventstore.ErrCut) || !cut.Hides && last.Revision != 2 {
				t.Errorf("the last event is %d, %v", last.Revision, err)
			}
			again, err := store.Append(ctx, eventstoretest.TagWrite("tags-a", eventstore.NoStream, uuid.New(), "d"))
			if !errors.Is(err, eventstore.ErrCut) && !errors.Is(err, eventstore.ErrWrongRevision) {
				t.Errorf("appended as if it were new, as event %d, %v", again.Revision, err)
			}
			if loaded, err := store.Load(ctx, "tags-a"); !errors.Is(err, eventstore.ErrCut) {
				t.Errorf("after the append loaded %d events, %v", len(loaded), err)
			}
		})
	}
}

// TestMetadataAlone sets metadata of streams that were never written. It checks that only metadata
// that hides events counts as a cut.
func TestMetadataAlone(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store, ctx := eventstoretest.Open(t, server.URL()), t.Context()
	for stream, tc := range map[string]struct {
		metadata string
		cut      bool
	}{
		"tags-none":    {`{}`, false},
		"tags-custom":  {`{"owner":"somebody","$cacheControl":3}`, false},
		"tags-deleted": {`{"$tb":9223372036854775807}`, true},
		"tags-odd":     {`{'$tb':9223372036854775807}`, true},
		"tags-doubled": {`{"$tb":9223372036854775807,"$tb":null}`, true},
	} {
		eventstoretest.Append(t, server.URL(), metadata.StreamOf(stream), metadata.TypeMetadata, []byte(tc.metadata))
		if loaded, err := store.Load(ctx, stream); len(loaded) > 0 || errors.Is(err, eventstore.ErrCut) != tc.cut ||
			!tc.cut && err != nil {
			t.Errorf("%s: loaded %d events, %v", stream, len(loaded), err)
		}
	}
}
