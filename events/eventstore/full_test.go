package eventstore_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestRefusalOfFullDisk fills the disk of an event store. It checks that Refusal gives the reason until the disk has
// space again, without any further append.
func TestRefusalOfFullDisk(t *testing.T) {
	t.Parallel()
	full := embeddedtest.NewDisk(vfs.NewMem())
	server := eventstoretest.ServeConfig(t, embedded.Config{Dir: "events", FS: full})
	store := eventstoretest.Open(t, server.URL())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	write := func(i int) error {
		_, err := store.Append(
			ctx, eventstoretest.TagWrite("tags-"+strconv.Itoa(i), eventstore.NoStream, uuid.New(), "a"),
		)
		return err
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	refusal := func(when string, want error) {
		t.Helper()
		if err := store.Refusal(ctx); !errors.Is(err, want) || store.Refuses() != (want != nil) {
			t.Fatalf("%s: refusal %v, refuses %t; want %v", when, err, store.Refuses(), want)
		}
	}
	refusal("before", nil)
	full.SetFree(disk.ReserveBytes - 1)
	for i := 1; !store.Refuses(); i++ { // the server looks at the free space now and then
		if err := write(i); err != nil && !errors.Is(err, eventstore.ErrRefusesWrites) {
			t.Fatal(err)
		}
	}
	refusal("full", eventstore.ErrRefusesWrites)
	full.SetFree(1 << 40)
	for store.Refuses() && ctx.Err() == nil {
		if err := store.Refusal(ctx); err != nil && !errors.Is(err, eventstore.ErrRefusesWrites) {
			t.Fatal(err)
		}
	}
	refusal("after", nil)
}
