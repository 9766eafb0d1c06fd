package eventstore

import (
	"errors"
	"fmt"
	"testing"
)

// TestRefusalEnds notes appends in the order in which clients may read their answers. A refusal ends with an append
// that began after it, and with no other.
func TestRefusalEnds(t *testing.T) {
	t.Parallel()
	var r refusal
	full, broken := fmt.Errorf("%w: full", ErrRefusesWrites), fmt.Errorf("%w: broken", ErrRefusesWrites)
	notes := func(what string, noted *error, err, want error) {
		t.Helper()
		r.note(noted, err)
		if last := r.last.Load(); (last == nil) != (want == nil) || last != nil && !errors.Is(*last, want) {
			t.Errorf("after %s the last refusal is %v, want %v", what, last, want)
		}
	}
	early := r.last.Load()
	notes("a refusal", early, full, full)
	notes("an append that began before it", early, nil, full)
	afterFull := r.last.Load()
	notes("an outage", afterFull, ErrUnavailable, full)
	notes("another refusal", afterFull, broken, broken)
	notes("an append that began before that", afterFull, nil, broken)
	notes("an append that began after both", r.last.Load(), nil, nil)
}
