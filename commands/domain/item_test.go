package domain_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
)

// TestItems checks that the items of a call are different commands, and that the items of a repeat are the same
// commands. Apart from that, an item is the request of the call.
func TestItems(t *testing.T) {
	t.Parallel()
	call := domain.Request{Account: "a", Key: "k", ID: "r", Batch: "b", Command: uuid.New(), Repeated: true}
	repeat := call
	seen := map[uuid.UUID]int{call.Command: -1}
	for index := range 1000 {
		item := call.Item(index)
		if again := repeat.Item(index); item != again {
			t.Fatalf("item %d is %+v, and in a repeat %+v", index, item, again)
		}
		if other, taken := seen[item.Command]; taken {
			t.Fatalf("item %d is the command of item %d", index, other)
		}
		seen[item.Command] = index
		if item.Command = call.Command; item != call {
			t.Fatalf("item %d is of the request %+v, want %+v", index, item, call)
		}
	}
	other := call
	other.Command = uuid.New()
	if index, taken := seen[other.Item(0).Command]; taken {
		t.Errorf("an item of another call is the command of item %d", index)
	}
}

// TestCreating checks that the creations of a command differ by hash and time alone.
func TestCreating(t *testing.T) {
	t.Parallel()
	call := domain.Request{Account: "a", Batch: "b", Command: uuid.New()}
	first := call.Creating("one", commandstest.At)
	if again := call.Creating("one", commandstest.At); first != again || first.Command == call.Command {
		t.Errorf("the creation is %+v, and in a repeat %+v, of %+v", first, again, call)
	}
	for name, other := range map[string]domain.Request{
		"hash": call.Creating("two", commandstest.At),
		"time": call.Creating("one", commandstest.At.Add(time.Microsecond)),
		"call": domain.Request{Command: uuid.New()}.Creating("one", commandstest.At),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if other.Command == first.Command {
				t.Errorf("the creation with another %s is the same command", name)
			}
		})
	}
}
