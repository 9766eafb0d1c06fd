package events_test

import (
	"testing"

	"linkledger/events"
)

// TestTypeOfCreation checks that the type of the first event of a link says who has claimed the hash, because the event
// is stored without ClaimsHash.
func TestTypeOfCreation(t *testing.T) {
	t.Parallel()
	for want, claims := range map[string]bool{"url.created.v1": false, "url.created.v2": true} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if got := (events.URLCreated{ClaimsHash: claims}).EventType(); got != want {
				t.Errorf("the type is %s, want %s", got, want)
			}
		})
	}
}
