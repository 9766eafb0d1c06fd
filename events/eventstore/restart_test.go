package eventstore_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestAppendsOutliveTheStore checks that writers continue through restarts of the store, and that
// every command is applied exactly once.
func TestAppendsOutliveTheStore(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	const writers, each = 16, 60
	var all sync.WaitGroup
	progress := make(chan struct{}, writers*each)
	for writer := range writers {
		all.Go(func() {
			stream, last := fmt.Sprintf("tags-%d", writer), eventstore.NoStream
			for i := range each {
				appended, err := store.Append(
					t.Context(), eventstoretest.TagWrite(stream, last, uuid.New(), strconv.Itoa(i)),
				)
				if err != nil {
					t.Error(err)
					return
				}
				last = appended.Revision
				progress <- struct{}{}
			}
		})
	}
	for range 3 {
		for range writers * each / 5 {
			<-progress
		}
		server.Stop()
		server.Start()
	}
	all.Wait()
	for writer := range writers {
		loaded, err := store.Load(t.Context(), fmt.Sprintf("tags-%d", writer))
		if err != nil || len(loaded) != each {
			t.Fatalf("writer %d: %d of %d events, %v", writer, len(loaded), each, err)
		}
		for i, r := range loaded {
			e, err := r.Event()
			if created, ok := e.(events.TagCreated); err != nil || !ok || created.Label != strconv.Itoa(i) {
				t.Fatalf("writer %d, event %d: %+v, %v", writer, i, e, err)
			}
		}
	}
}
