package logreader_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventlog"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/eventstore/subscription"
)

var tags = eventstore.Filter{Streams: []string{events.StreamTags}}

func moved(p eventstore.Position, by uint64) eventstore.Position {
	return eventstore.Position{Commit: p.Commit + by, Prepare: p.Prepare + by}
}

// refusesPosition checks that an error names the position and a remedy.
func refusesPosition(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, eventstore.ErrPositionInvalid) || errors.Is(err, eventstore.ErrUnavailable) ||
		!strings.Contains(err.Error(), "must be read again") {
		t.Errorf("%s: %v", what, err)
	}
}

// whySubscriptionEnds returns the first error of a subscription that starts at a checkpoint.
func whySubscriptionEnds(
	t *testing.T, store *eventstore.Store, at eventstore.Position, filter eventstore.Filter,
) error {
	t.Helper()
	failed := make(chan error)
	subscriber := subscription.New(store, subscription.Config{
		Filter:     filter,
		Checkpoint: func(context.Context) (eventstore.Position, error) { return at, nil },
		OnError: func(err error) {
			select {
			case failed <- err:
			case <-t.Context().Done():
			}
		},
	})
	if _, err := subscriber.Subscribe(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	go func() { // the subscription retries until the test ends
		for range failed {
		}
	}()
	if closed := subscriber.Close(); closed != nil {
		t.Error(closed)
	}
	close(failed)
	return err
}

// TestInvalidPositions reads from positions that are not in the log, with the dialect of every
// server.
func TestInvalidPositions(t *testing.T) {
	t.Parallel()
	eventstoretest.Each(t, func(t *testing.T, server *eventstoretest.Server) {
		t.Helper()
		store := eventstoretest.Open(t, server.URL())
		positions := eventstoretest.Fill(t, store, 300)
		head := positions[299]
		ignore := func([]eventstore.Recorded) error { return nil }
		for name, at := range map[string]eventstore.Position{
			"inside an event": moved(positions[0], 1), "behind the end": moved(head, 1000),
		} {
			refusesPosition(t, name+": subscription", whySubscriptionEnds(t, store, at, tags))
			_, err := store.Backlog(t.Context(), at, tags, 1)
			refusesPosition(t, name+": backlog", err)
			refusesPosition(t, name+": log up to its end", store.ReadLog(t.Context(), at, head, ignore))
			refusesPosition(t, name+": log up to there", store.ReadLog(t.Context(), at, moved(head, 2000), ignore))
		}
		refusesPosition(t, "log that is shorter", store.ReadLog(t.Context(), positions[0], moved(head, 1000), ignore))
		if err := store.ReadLog(t.Context(), positions[0], head, ignore); err != nil {
			t.Errorf("positions that are in the log: %v", err)
		}
	})
}

// TestUnknownIsAnOutage checks that a read that fails with UNKNOWN is retried, whether the event
// store temporarily rejects all reads or only a position.
func TestUnknownIsAnOutage(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	positions := eventstoretest.Fill(t, eventstoretest.Open(t, server.URL()), 300)
	for name, answers := range map[string][]bool{
		"all reads":                    {false, false, false, false, false},
		"the position, once":           {false, true},
		"the position, in the outage":  {false, false},
		"the end, after the position":  {false, false, true, true},
		"the position, and the outage": {false, true, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := eventstoretest.Open(t, newUnsure(t, server.Address(), answers))
			var read []eventstore.Recorded
			err := store.ReadLog(t.Context(), positions[9], positions[299], func(batch []eventstore.Recorded) error {
				read = append(read, batch...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			eventstoretest.WantCounted(t, read, 10, 299)
		})
	}
}

// TestReadThatEndsEarly ends reads of the log too early, as a node may do that has just become the
// leader. It checks that the remaining events are read later.
func TestReadThatEndsEarly(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	positions := eventstoretest.Fill(t, eventstoretest.Open(t, server.URL()), 300)
	for name, parts := range map[string][]int{"at once": {0}, "in the middle": {100}, "twice": {1, 0, 150}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var read []eventstore.Recorded
			err := eventstoretest.Open(t, newProxy(t, server.Address(), &unsure{parts: parts})).ReadLog(
				t.Context(), positions[9], positions[299], func(batch []eventstore.Recorded) error {
					read = append(read, batch...)
					return nil
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			eventstoretest.WantCounted(t, read, 10, 299)
		})
	}
}

// unsure is a proxy of a server. It responds UNKNOWN to each of the first reads whose entry in
// answers is false. It ends each of the first reads of several events after as many responses as
// its entry in parts says.
type unsure struct {
	streams.UnimplementedStreamsServer
	server  streams.StreamsClient
	answers []bool
	parts   []int
	reads   atomic.Int64
	long    atomic.Int64 // reads of several events
}

func newUnsure(t *testing.T, server string, answers []bool) (url string) {
	t.Helper()
	return newProxy(t, server, &unsure{answers: answers})
}

// newProxy serves u as a proxy of a server.
func newProxy(t *testing.T, server string, u *unsure) (url string) {
	t.Helper()
	conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	u.server = streams.NewStreamsClient(conn)
	listener := eventstoretest.Listen(t)
	served := grpc.NewServer()
	streams.RegisterStreamsServer(served, u)
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	t.Cleanup(func() {
		served.Stop()
		if err := errors.Join(<-ended, conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return "esdb://" + listener.Addr().String() + "?tls=false"
}

// Read implements streams.StreamsServer.
func (u *unsure) Read(request *streams.ReadReq, call streams.Streams_ReadServer) error {
	if n := int(u.reads.Add(1)); n <= len(u.answers) && !u.answers[n-1] {
		return status.Error(codes.Unknown, "Exception was thrown by handler.")
	}
	answers, err := u.server.Read(call.Context(), request)
	if err != nil {
		return err
	}
	part := math.MaxInt
	if request.GetOptions().GetCount() > 1 {
		if n := int(u.long.Add(1)); n <= len(u.parts) {
			part = u.parts[n-1]
		}
	}
	for range part {
		answer, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := call.Send(answer); err != nil {
			return err
		}
	}
	return nil
}

// TestFits restores a log from a backup and repeats the append that it lacks, so that it has the same event at the same
// position, recorded at another time. It checks that only readers who have the former event are told.
func TestFits(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder, backup := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	server := eventstoretest.ServeFolder(t, folder)
	store := eventstoretest.Open(t, server.URL())
	appended := func(stream string, command uuid.UUID) eventlog.Identity {
		t.Helper()
		done, err := store.Append(t.Context(), eventstoretest.TagWrite(stream, eventstore.NoStream, command, "x"))
		if err != nil {
			t.Fatal(err)
		}
		at, err := store.IdentityAt(t.Context(), done.Position)
		if err != nil || at.Position != done.Position {
			t.Fatalf("the event at %s is %+v, %v", done.Position, at, err)
		}
		return at
	}
	fits := func(checkpoint eventstore.Position, last eventlog.Identity, want bool) {
		t.Helper()
		err := store.Fits(t.Context(), checkpoint, last, tags)
		if (err == nil) != want || err != nil && !errors.Is(err, eventstore.ErrPositionInvalid) {
			t.Errorf("%+v up to %s: %v; want %t", last, checkpoint, err, want)
		}
	}
	command := uuid.New()
	kept := appended(events.StreamTags+"a", uuid.New())
	server.Stop()
	if err := os.CopyFS(backup, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	lost := appended(events.StreamTags+"b", command)
	other := appended("other-c", uuid.New())
	fits(other.Position, lost, true)
	fits(other.Position, eventlog.Identity{}, true)
	server.Stop()
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(backup))); err != nil {
		t.Fatal(err)
	}
	server.Start()
	fits(lost.Position, lost, false)
	repeated := appended(events.StreamTags+"b", command)
	if repeated.Position != lost.Position {
		t.Errorf("the repeated event is at %s, not at %s", repeated.Position, lost.Position)
	}
	fits(lost.Position, lost, false)
	fits(kept.Position, kept, true)
	fits(repeated.Position, kept, false) // where it has not seen the event that a filter selects
	fits(repeated.Position, repeated, true)
}
