package eventstoretest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// Cut is a way to hide events of a stream from its readers.
type Cut struct {
	Name string
	// Hides reports whether readers then see no event at all, or are refused.
	Hides bool
	cut   func(ctx context.Context, c *esdb.Client, stream string) error
}

// Cuts returns all ways that the protocol offers.
func Cuts() []Cut {
	limits := func(
		set func(*esdb.StreamMetadata),
	) func(context.Context, *esdb.Client, string) error {
		return func(ctx context.Context, c *esdb.Client, stream string) error {
			var metadata esdb.StreamMetadata
			set(&metadata)
			_, err := c.SetStreamMetadata(
				ctx, stream, esdb.AppendToStreamOptions{ExpectedRevision: esdb.Any{}}, metadata,
			)
			return err
		}
	}
	return []Cut{
		{
			"truncate before 1", false,
			limits(func(m *esdb.StreamMetadata) { m.SetTruncateBefore(1) }),
		},
		{
			"truncate all", true,
			limits(func(m *esdb.StreamMetadata) { m.SetTruncateBefore(1 << 40) }),
		},
		{"max count", false, limits(func(m *esdb.StreamMetadata) { m.SetMaxCount(1) })},
		{"max age", true, limits(func(m *esdb.StreamMetadata) { m.SetMaxAge(time.Second) })},
		{"soft delete", true, func(ctx context.Context, c *esdb.Client, stream string) error {
			_, err := c.DeleteStream(
				ctx, stream, esdb.DeleteStreamOptions{ExpectedRevision: esdb.Any{}},
			)
			return err
		}},
		{"tombstone", true, func(ctx context.Context, c *esdb.Client, stream string) error {
			_, err := c.TombstoneStream(
				ctx, stream, esdb.TombstoneStreamOptions{ExpectedRevision: esdb.Any{}},
			)
			return err
		}},
	}
}

// Apply cuts a stream through the official client. It returns when readers no longer see the
// stream's first event, or see no event if the cut hides all.
func (k Cut) Apply(t testing.TB, url, stream string) {
	t.Helper()
	c := Client(t, url)
	if err := k.cut(t.Context(), c, stream); err != nil {
		t.Fatalf("%s of %s: %v", k.Name, stream, err)
	}
	for { // only a maximum age takes effect later
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		if first, ok := firstOf(t, c, stream); !ok || first > 0 && !k.Hides {
			return
		}
	}
}

// firstOf returns the number of the first readable event. It returns false if there is none.
func firstOf(t testing.TB, c *esdb.Client, stream string) (uint64, bool) {
	t.Helper()
	read, err := c.ReadStream(t.Context(), stream, esdb.ReadStreamOptions{From: esdb.Start{}}, 1)
	if err != nil {
		t.Fatalf("read %s: %v", stream, err)
	}
	defer read.Close()
	first, err := read.Recv()
	if err == nil {
		return first.Event.EventNumber, true
	}
	refused, ok := errors.AsType[*esdb.Error](err)
	isMissing := ok && (refused.Code() == esdb.ErrorCodeResourceNotFound ||
		refused.Code() == esdb.ErrorCodeStreamDeleted)
	if !errors.Is(err, io.EOF) && !isMissing {
		t.Fatalf("read %s: %v", stream, err)
	}
	return 0, false
}

// Append appends an event of any type and body to a stream, as another program can.
func Append(t testing.TB, url, stream, eventType string, body []byte) {
	t.Helper()
	_, err := Client(t, url).AppendToStream(t.Context(), stream, esdb.AppendToStreamOptions{
		ExpectedRevision: esdb.Any{},
	},
		esdb.EventData{EventType: eventType, ContentType: esdb.ContentTypeJson, Data: body})
	if err != nil {
		t.Fatalf("append %s to %s: %v", eventType, stream, err)
	}
}

// Client connects the official client until the test ends.
func Client(t testing.TB, url string) *esdb.Client {
	t.Helper()
	config, err := esdb.ParseConnectionString(url)
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = esdb.NoopLogging()
	c, err := esdb.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the client: %v", err)
		}
	})
	return c
}
