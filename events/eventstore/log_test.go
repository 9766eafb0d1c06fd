package eventstore_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// fill appends n consecutive labels, 100 to a stream, and returns the positions of all events.
func fill(t *testing.T, store *eventstore.Store, n int) []eventstore.Position {
	t.Helper()
	var positions []eventstore.Position
	for i := 0; i < n; i += 100 {
		var labels []string
		for j := i; j < min(i+100, n); j++ {
			labels = append(labels, strconv.Itoa(j))
		}
		stream := "tags-" + strconv.Itoa(i)
		if _, err := store.Append(
			t.Context(), eventstoretest.TagWrite(stream, eventstore.NoStream, uuid.New(), labels...),
		); err != nil {
			t.Fatal(err)
		}
		loaded, err := store.Load(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range loaded {
			positions = append(positions, r.Position)
		}
	}
	return positions
}

// counted checks that the events have the labels from first to last.
func counted(t *testing.T, read []eventstore.Recorded, first, last int) {
	t.Helper()
	if len(read) != last-first+1 {
		t.Fatalf("%d events, want %d", len(read), last-first+1)
	}
	for i := range read {
		if got := labels(t, read[i:i+1]); got != strconv.Itoa(first+i) {
			t.Fatalf("event %d is %s", first+i, got)
		}
	}
}

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
	positions := fill(t, store, 2000)
	counted(t, read(eventstore.Position{}, positions[1999]), 0, 1999)
	counted(t, read(positions[9], positions[1499]), 10, 1499)
	if rest := read(positions[1999], positions[1999]); len(rest) != 0 {
		t.Errorf("after the end: %v", rest)
	}
}

func TestReadLogAcrossOutages(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	positions := fill(t, eventstoretest.Open(t, server.URL()), 2500)
	network := newNetwork(t, server.Address())
	store := eventstoretest.Open(t, network.url())
	var all []eventstore.Recorded
	err := store.ReadLog(t.Context(), eventstore.Position{}, positions[2499], func(batch []eventstore.Recorded) error {
		all = append(all, batch...)
		network.cut()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	counted(t, all, 0, 2499)
}

func TestReadLogEnds(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	positions := fill(t, store, 2000)
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
