package httpapi

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// beginTrace begins the span of a request, within the trace that the request's headers name, if they do.
func (s *server) beginTrace(e *exchange) trace.Span {
	ctx := propagation.TraceContext{}.Extract(e.request.Context(), propagation.HeaderCarrier(e.request.Header))
	ctx, span := s.cfg.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	e.request = e.request.WithContext(ctx)
	return span
}

// endTrace names the span by what the request turned out to be.
func (s *server) endTrace(e *exchange, span trace.Span) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	method := knownMethod(e.request.Method)
	span.SetName(strings.TrimSpace(method + " " + e.route))
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", e.route),
		attribute.Int("http.response.status_code", e.status),
		attribute.String("linkledger.request", e.id),
		attribute.String("linkledger.account", e.account.Username),
	)
	if e.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(e.status))
	}
}
