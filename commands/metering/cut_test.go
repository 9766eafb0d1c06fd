package metering

import (
	"errors"
	"testing"
	"time"

	"linkledger/commands/commandstest"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestCutUsage cuts the stream of an account's calls. A node that cannot read them counts only its
// own calls and does not report a total.
func TestCutUsage(t *testing.T) {
	t.Parallel()
	for _, cut := range eventstoretest.Cuts() {
		t.Run(cut.Name, func(t *testing.T) {
			t.Parallel()
			server := eventstoretest.Serve(t)
			store := eventstoretest.Open(t, server.URL())
			cfg := Config{Store: store, Now: func() time.Time { return commandstest.At }}
			node := New(cfg)
			stream := node.today("a").stream()
			for range 2 {
				node.Count("a", 0)
				node.reportAll(t.Context())
			}
			cut.Apply(t, server.URL(), stream)
			other := New(cfg)
			other.Count("a", 0)
			other.reportAll(t.Context())
			last, err := store.Last(t.Context(), stream)
			if cut.Hides {
				if !errors.Is(err, eventstore.ErrCut) {
					t.Errorf("reported as event %d: %v", last.Revision, err)
				}
				return
			}
			e, decoding := last.Event()
			if err != nil || decoding != nil || e.(events.CallsMetered).DayCalls != 3 {
				t.Errorf("reported %+v, %v, %v", e, err, decoding)
			}
		})
	}
}
