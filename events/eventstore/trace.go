package eventstore

import (
	"bytes"
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// maxLinks is the maximum number of append spans that the span of a batch of events links to.
const maxLinks = 64

// appendTraced appends within a span, whose context it stores in the metadata of the events.
func (s *Store) appendTraced(ctx context.Context, w Write) (Appended, error) {
	kind := trace.WithSpanKind(trace.SpanKindClient)
	ctx, span := s.cfg.Tracer.Start(ctx, "append", kind, trace.WithAttributes(
		attribute.String("linkledger.stream", w.Stream),
		attribute.Int("linkledger.events", len(w.Events)),
		attribute.String("linkledger.correlation_id", w.Metadata.CorrelationID),
		attribute.String("linkledger.causation_id", w.Metadata.CausationID),
	))
	defer span.End()
	if span.SpanContext().IsSampled() {
		w.Metadata.TraceParent = traceParent(span.SpanContext())
	}
	appended, err := s.append(ctx, w)
	switch {
	case errors.Is(err, ErrWrongRevision): // the caller retries, so this is no failure
		span.SetAttributes(attribute.Bool("linkledger.conflict", true))
	case err != nil:
		span.SetStatus(codes.Error, err.Error())
	default:
		//nolint:gosec // positions are below the largest int64
		span.SetAttributes(attribute.Int64("linkledger.position", int64(appended.Position.Commit)))
	}
	return appended, err
}

// traceParent returns a span in the form of the traceparent header
// (https://www.w3.org/TR/trace-context/).
func traceParent(span trace.SpanContext) string {
	return "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-" +
		span.TraceFlags().String()
}

const (
	traceKey    = `"traceparent":"00-`
	traceLength = 32 + 1 + 16 // trace id, hyphen and span id in hex
)

// TraceLinks returns links to the spans in which the events were appended: each span once, and at
// most maxLinks.
func TraceLinks(recorded []Recorded) []trace.Link {
	var links []trace.Link
	seen := make(map[trace.SpanID]bool)
	for _, r := range recorded {
		span := traceOf(r.Metadata)
		if !span.IsValid() || seen[span.SpanID()] {
			continue
		}
		seen[span.SpanID()] = true
		if links = append(links, trace.Link{SpanContext: span}); len(links) == maxLinks {
			break
		}
	}
	return links
}

// traceOf returns the span in the metadata of an event, or an invalid span if there is none.
func traceOf(metadata []byte) trace.SpanContext {
	_, after, found := bytes.Cut(metadata, []byte(traceKey))
	if !found || len(after) < traceLength {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(string(after[:32]))
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(string(after[33:traceLength]))
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(
		trace.SpanContextConfig{
			TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled, Remote: true,
		},
	)
}
