package eventstore_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// TestTracedAppend checks that the events of a traced append carry its span, and that those of an
// append that is not sampled carry none.
func TestTracedAppend(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	spans := tracetest.NewSpanRecorder()
	for stream, sampler := range map[string]sdktrace.Sampler{
		"tags-traced": sdktrace.AlwaysSample(), "tags-not": sdktrace.NeverSample(),
	} {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(sampler))
		store, err := eventstore.Open(eventstore.Config{URL: server.URL(), Tracer: provider.Tracer("test")})
		if err != nil {
			t.Fatal(err)
		}
		w := eventstoretest.TagWrite(stream, eventstore.NoStream, uuid.New(), "a", "b")
		w.Metadata = events.Metadata{CorrelationID: "correlation", CausationID: "causation"}
		if _, err := store.Append(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		store.Close()
	}
	store := eventstoretest.Open(t, server.URL())
	traced, err := store.Load(t.Context(), "tags-traced")
	if err != nil {
		t.Fatal(err)
	}
	untraced, err := store.Load(t.Context(), "tags-not")
	if err != nil {
		t.Fatal(err)
	}
	if len(spans.Ended()) != 1 {
		t.Fatalf("%d spans, want only that of the sampled append", len(spans.Ended()))
	}
	span := spans.Ended()[0]
	links := eventstore.TraceLinks(append(untraced, traced...))
	if len(links) != 1 || links[0].SpanContext.SpanID() != span.SpanContext().SpanID() ||
		links[0].SpanContext.TraceID() != span.SpanContext().TraceID() {
		t.Errorf("the events link to %v, were appended in %v", links, span.SpanContext())
	}
	if strings.Contains(string(untraced[0].Metadata), "traceparent") {
		t.Errorf("an append that is not sampled has metadata %s", untraced[0].Metadata)
	}
	said := make(map[string]string)
	for _, attribute := range span.Attributes() {
		said[string(attribute.Key)] = attribute.Value.String()
	}
	if span.Name() != "append" || said["linkledger.stream"] != "tags-traced" || said["linkledger.events"] != "2" ||
		said["linkledger.correlation_id"] != "correlation" || said["linkledger.causation_id"] != "causation" {
		t.Errorf("the span %s has %v", span.Name(), said)
	}
}

func FuzzTraceLinks(f *testing.F) {
	f.Add([]byte(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`))
	f.Add([]byte(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c`))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		for _, link := range eventstore.TraceLinks([]eventstore.Recorded{{Metadata: metadata}}) {
			if !link.SpanContext.IsValid() {
				t.Fatal(link)
			}
		}
	})
}
