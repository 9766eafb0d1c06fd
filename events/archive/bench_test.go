package archive

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

const benchEvents = 200_000

// newLargeLog returns an event store on disk with benchEvents events of links.
func newLargeLog(b *testing.B) *eventstore.Store {
	b.Helper()
	store := eventstoretest.Open(b, eventstoretest.ServeFolder(b, b.TempDir()).URL())
	const each = 500
	for i := range benchEvents / each {
		changes := make([]events.Event, each)
		for j := range changes {
			changes[j] = events.URLRetargeted{
				LongURL: "https://example.com/some/path?of=" + strconv.Itoa(i*each+j), At: time.Now(),
			}
		}
		_, err := store.Append(b.Context(), eventstore.Write{
			Stream: events.StreamURL + uuid.NewString(), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: changes,
			Metadata: events.Metadata{
				Account: accountA, Key: "0123abcd", Address: "7dc6eea43ee1439a41b2d464c4913e5f",
				RequestID: uuid.NewString(),
			},
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return store
}

// BenchmarkExport exports a log over gRPC and checks the file. heap-MB is the heap at the end,
// which does not depend on the size of the log.
func BenchmarkExport(b *testing.B) {
	store := newLargeLog(b)
	for _, format := range []Format{NDJSON, CSV} {
		var file bytes.Buffer
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				file.Reset()
				run(b, store, format, &file)
			}
			rate(b)
		})
		b.Run(string(format)+"-check", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Check(bytes.NewReader(file.Bytes())); err != nil {
					b.Fatal(err)
				}
			}
			rate(b)
		})
	}
	b.Run("heap", func(b *testing.B) {
		for b.Loop() {
			run(b, store, NDJSON, io.Discard)
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(float64(memory.HeapInuse)/1e6, "heap-MB")
	})
}

func run(b *testing.B, store *eventstore.Store, format Format, out io.Writer) {
	b.Helper()
	export, err := Begin(b.Context(), store, out, Header{Format: format})
	if err != nil {
		b.Fatal(err)
	}
	if sum, err := export.Run(b.Context(), nil); err != nil || sum.Count != benchEvents {
		b.Fatalf("%d events, %v", sum.Count, err)
	}
}

func rate(b *testing.B) {
	b.Helper()
	b.ReportMetric(benchEvents*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
