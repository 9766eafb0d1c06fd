package revision

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
)

func TestRecentIDsForgetTheOldest(t *testing.T) {
	t.Parallel()
	r := NewRecentIDs(2)
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for i, id := range ids {
		r.Add(&record.Event{Stream: "s", ID: id, Number: int64(i), Position: uint64(i) + 1})
	}
	r.Add(&record.Event{Stream: "s", ID: ids[2], Number: 9, Position: 9})
	if _, ok := r.Get("s", ids[0]); ok {
		t.Error("the oldest id is still known")
	}
	if e, ok := r.Get("s", ids[2]); !ok || e.Number != 2 {
		t.Errorf("got %+v, want the first use", e)
	}
	if len(r.entries) != 2 || len(r.order) != 2 {
		t.Errorf("%d entries, %d in order, want 2", len(r.entries), len(r.order))
	}
}
