package keyuse

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestUsesWaitForFurtherOnes checks that a key is stored a while after its first use, with the time of its last one.
func TestUsesWaitForFurtherOnes(t *testing.T) {
	t.Parallel()
	uses, account := New(nil, nil), uuid.New()
	uses.Used(account, "early")
	between := time.Now()
	uses.Used(account, "late")
	uses.Used(account, "early")
	taken := uses.take(between)
	if at, ok := taken[useOf{account, "early"}]; len(taken) != 1 || !ok || !at.last.After(between) {
		t.Errorf("taken: %v", taken)
	}
	if taken := uses.take(between); len(taken) > 0 {
		t.Errorf("taken again: %v", taken)
	}
	if taken := uses.take(time.Now()); len(taken) != 1 {
		t.Errorf("the other key is not taken: %v", taken)
	}
}
