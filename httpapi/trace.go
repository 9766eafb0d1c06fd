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
func (s *server) beginTrace(c *exchange) trace.Span {
	ctx := propagation.TraceContext{}.Extract(c.request.Context(), propagation.HeaderCarrier(c.request.Header))
	ctx, span := s.cfg.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	c.request = c.request.WithContext(ctx)
	return span
}

// endTrace names the span by what the request turned out to be.
func (s *server) endTrace(c *exchange, span trace.Span) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	method := c.knownMethod()
	span.SetName(strings.TrimSpace(method + " " + c.route))
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", c.route),
		attribute.Int("http.response.status_code", c.status),
		attribute.String("linkledger.request", c.id),
		attribute.String("linkledger.account", c.account.Username),
	)
	if c.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(c.status))
	}
}
