package logreader_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestReadLog(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	read := func(behind, upTo eventstore.Position) []eventstore.Recorded {
		var all []eventstore.Recorded
		err := store.ReadLog(t.Context(), behind, upTo, func(batch []eventstore.Recorded) error {
			all = append(all, batch...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if empty := read(eventstore.Position{}, eventstore.Position{}); len(empty) != 0 {
		t.Fatalf("an empty log: %v", empty)
	}
	positions := eventstoretest.Fill(t, store, 2000)
	eventstoretest.WantCounted(t, read(eventstore.Position{}, positions[1999]), 0, 1999)
	eventstoretest.WantCounted(t, read(positions[9], positions[1499]), 10, 1499)
	if rest := read(positions[1999], positions[1999]); len(rest) != 0 {
		t.Errorf("after the end: %v", rest)
	}
}

func TestReadLogEnds(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	positions := eventstoretest.Fill(t, store, 2000)
	full := errors.New("the disk is full")
	calls := 0
	err := store.ReadLog(t.Context(), eventstore.Position{}, positions[1999], func([]eventstore.Recorded) error {
		calls++
		return full
	})
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("an error of the caller: %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server.Stop()
	cancel()
	if err := store.ReadLog(
		ctx, eventstore.Position{}, positions[1999], nil,
	); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("an outage until the end: %v", err)
	}
}

// TestReadOfShorterLog checks that a read up to a position behind the end of the log says where the log ends.
func TestReadOfShorterLog(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	ends := func(name string) {
		t.Helper()
		head, err := store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = store.ReadLog(
			t.Context(), head, moved(head, 1000), func([]eventstore.Recorded) error { return nil },
		)
		refusesPosition(t, name, err)
		if want := "the log ends at " + head.String() + ","; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q in it", name, err, want)
		}
	}
	ends("a new log")
	eventstoretest.Fill(t, store, 20)
	ends("a log with events")
}
