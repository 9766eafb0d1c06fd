package httpapi

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"linkledger/httpapi/request"
)

// beginTrace begins the span of a request. If the request's headers name a trace, the span belongs
// to that trace.
func (s *Server) beginTrace(c *request.Context) trace.Span {
	ctx := propagation.TraceContext{}.Extract(
		c.Request.Context(), propagation.HeaderCarrier(c.Request.Header),
	)
	ctx, span := s.cfg.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	c.Request = c.Request.WithContext(ctx)
	return span
}

// endTrace ends the span. The name of the span needs the route, which is known only now.
func (s *Server) endTrace(c *request.Context, span trace.Span) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	method := c.KnownMethod()
	span.SetName(strings.TrimSpace(method + " " + c.Route))
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", c.Route),
		attribute.Int("http.response.status_code", c.Status),
		attribute.String("linkledger.request", c.ID),
		attribute.String("linkledger.account", c.Account.Username),
	)
	if c.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(c.Status))
	}
}
