package request_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded/failure"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/wire"
)

// proposed returns an event of the type "t" with 3 bytes of data and 2 of metadata, which count as 7 bytes.
func proposed() *streams.BatchAppendReq_ProposedMessage {
	return &streams.BatchAppendReq_ProposedMessage{
		Id:       wire.UUID([16]byte{1}, true),
		Metadata: map[string]string{"type": "t", "content-type": record.ContentJSON},
		Data:     []byte("[1]"), CustomMetadata: []byte("{}"),
	}
}

// TestAddedEvents checks that an append has the events that were added, in their order.
func TestAddedEvents(t *testing.T) {
	t.Parallel()
	var d request.Append
	binary := proposed()
	binary.Id, binary.Metadata["content-type"] = wire.UUID([16]byte{2}, false), "application/octet-stream"
	for _, m := range []*streams.BatchAppendReq_ProposedMessage{proposed(), binary} {
		if err := d.Add(m, 14); err != nil {
			t.Fatal(err)
		}
	}
	same := func(a, b record.Proposed) bool {
		return a.ID == b.ID && a.Type == b.Type && a.JSON == b.JSON && slices.Equal(a.Data, b.Data) &&
			slices.Equal(a.Metadata, b.Metadata)
	}
	want := []record.Proposed{
		{ID: [16]byte{1}, Type: "t", JSON: true, Data: []byte("[1]"), Metadata: []byte("{}")},
		{ID: [16]byte{2}, Type: "t", JSON: false, Data: []byte("[1]"), Metadata: []byte("{}")},
	}
	if !slices.EqualFunc(d.Events, want, same) || d.Size != 14 {
		t.Errorf("the append has %d bytes and the events %+v, want 14 bytes and %+v", d.Size, d.Events, want)
	}
	var tooLarge *failure.TooLargeError
	if err := d.Add(proposed(), 20); !errors.As(err, &tooLarge) || tooLarge.Limit != 20 {
		t.Errorf("the event after the limit is answered with %v", err)
	}
}

// TestRefusedEvents checks that an append refuses an event without an id, a type or a form.
func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(m *streams.BatchAppendReq_ProposedMessage){
		"no id":           func(m *streams.BatchAppendReq_ProposedMessage) { m.Id = nil },
		"empty id":        func(m *streams.BatchAppendReq_ProposedMessage) { m.Id = wire.UUID([16]byte{}, false) },
		"no type":         func(m *streams.BatchAppendReq_ProposedMessage) { delete(m.GetMetadata(), "type") },
		"empty type":      func(m *streams.BatchAppendReq_ProposedMessage) { m.Metadata["type"] = "" },
		"no content type": func(m *streams.BatchAppendReq_ProposedMessage) { delete(m.GetMetadata(), "content-type") },
		"no properties":   func(m *streams.BatchAppendReq_ProposedMessage) { clear(m.GetMetadata()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d request.Append
			m := proposed()
			spoil(m)
			if err := d.Add(m, 1<<20); status.Code(failure.Status(t.Context(), err)) != codes.InvalidArgument ||
				len(d.Events) != 0 {
				t.Errorf("the event with %v is answered with %v, and the append has %d events",
					slices.Collect(maps.Keys(m.GetMetadata())), err, len(d.Events))
			}
		})
	}
}
