package leaf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/events/proof/leaf"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// TestLeaf checks that the leaf of an event does not change, because auditors compute it from an
// export and signed heads depend on it.
func TestLeaf(t *testing.T) {
	t.Parallel()
	r := eventstore.Recorded{
		Position: eventstore.Position{Commit: 1522, Prepare: 1521}, Stream: "hash-pg", Revision: 7,
		ID:   uuid.UUID{0: 0x7c, 15: 0x01},
		Type: "hash.claimed.v1", Time: time.Date(2026, 11, 21, 11, 20, 30, 123456700, time.FixedZone("", 3600)),
		Metadata: []byte("{\n}"), Data: []byte(`{"hash": "pg<ü>"}`),
	}
	const line = `{"position":{"commit":1522,"prepare":1521},"stream":"hash-pg","revision":7,"id":"7c000000-0000-0000-0000-000000000001",` +
		`"type":"hash.claimed.v1","time":"2026-11-21T10:20:30.1234567Z","metadata_base64":"ewp9","data":{"hash": "pg<ü>"}}`
	if got := string(leaf.Append(nil, r)); got != line {
		t.Errorf("line %s, want %s", got, line)
	}
	const hash = "NgxIpOjJv1WtX3lSKC6lClYDQgnQMVd0vppjSkUAt5w=" // computed by another program
	var h leaf.Hasher
	for range 2 { // the second time with the same buffer
		if got := h.Hash(r); got.String() != hash {
			t.Errorf("leaf %s, want %s", got, hash)
		}
	}
}

// TestDeepEvents parses lines of events that are nested as deeply as JSON allows, and more deeply.
// Both the line and the line of a proof around it must be readable.
func TestDeepEvents(t *testing.T) {
	t.Parallel()
	const maxNesting = 10_000 - 2
	for _, depth := range []int{1, maxNesting - 1, maxNesting, maxNesting + 1, maxNesting + 2, maxNesting + 3} {
		nested := strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1)
		if depth == 1 {
			nested = "1"
		}
		data := []byte(`{"a":"\"[[[\\","b":` + nested + `}`)
		if leaf.Verbatim(data) != (depth <= maxNesting) {
			t.Errorf("depth %d: verbatim %v", depth, leaf.Verbatim(data))
		}
		line := leaf.Append(nil, eventstore.Recorded{Stream: "url-deep", Type: "url.created.v1", Data: data})
		read, err := leaf.Parse(line)
		if err != nil || !bytes.Equal(read.Data, data) {
			t.Errorf("depth %d: %v", depth, err)
		}
		if proof := fmt.Appendf(nil, `{"index":1,"proof":null,"event":%s}`, line); !json.Valid(proof) {
			t.Errorf("depth %d: the line of the proof cannot be read", depth)
		}
	}
}

// FuzzParse checks that Parse accepts a line only if Append writes the same line.
func FuzzParse(f *testing.F) {
	for i := range 4 {
		f.Add(leaf.Append(nil, eventstore.Recorded{
			ID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)), Stream: fmt.Sprintf("url-%d", i%3),
			Revision: eventstore.Revision(i / 3), Type: fmt.Sprintf("url.%d.v1", i%2), Time: noon,
			Position: eventstore.Position{Commit: uint64(100 * i), Prepare: uint64(100 * i)},
			Data:     fmt.Appendf(nil, `{"n":%d}`, i), Metadata: fmt.Appendf(nil, `{"m":%d}`, i),
		}))
	}
	f.Add([]byte(`{"position":{"commit":1,"prepare":1},"stream":"s","stream":"t"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := leaf.Parse(line)
		if err == nil && !bytes.Equal(leaf.Append(nil, r), line) {
			t.Errorf("%q is read as %q", line, leaf.Append(nil, r))
		}
	})
}

// BenchmarkLeaf hashes an event.
func BenchmarkLeaf(b *testing.B) {
	id := uuid.NewString()
	r := eventstore.Recorded{ID: uuid.New(), Stream: "url-0", Type: "url.0.v1", Time: noon}
	r.Metadata = fmt.Appendf(
		nil, `{"$correlationId":%q,"$causationId":%q,"account":%q,"key":"5f0c1a2b","request":%q,"batch":%q}`, id, id,
		id, id, id,
	)
	r.Data = fmt.Appendf(nil, `{"note":"a note that somebody has written","at":%q}`, noon)
	var h leaf.Hasher
	for b.Loop() {
		h.Hash(r)
	}
}
