package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/request"
)

// tracedVisits are requests of each kind, with the name and the status of their span.
var tracedVisits = []struct{ method, path, span, status string }{
	{http.MethodGet, "/no.hash", "GET /:hash", "404"},
	{http.MethodGet, "/v3/account", "GET /v3/account", "400"},
	{"BREW", "/a/b/c", "other", "404"},
}

func traced(r *http.Request) {
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r.Header.Set(request.HeaderID, "traced")
}

// TestRequestsAreTraced checks that each request is a span, named by the kind of the request, in
// the trace that its headers name.
func TestRequestsAreTraced(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	cfg := httpapitest.Bare()
	cfg.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	handler, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, visit := range tracedVisits {
		httpapitest.Send(t, handler, visit.method, visit.path, "", traced)
		if len(spans.Ended()) != i+1 {
			t.Fatalf("%d spans of %d requests", len(spans.Ended()), i+1)
		}
		span, said := spans.Ended()[i], make(map[string]string)
		for _, attribute := range span.Attributes() {
			said[string(attribute.Key)] = attribute.Value.String()
		}
		httpapitest.Equal(t, "span", span.Name(), visit.span)
		httpapitest.Equal(t, "status", said["http.response.status_code"], visit.status)
		httpapitest.Equal(t, "request", said["linkledger.request"], "traced")
		httpapitest.Equal(t, "trace", span.SpanContext().TraceID().String(), "0af7651916cd43dd8448eb211c80319c")
	}
}

func TestRequestLog(t *testing.T) {
	t.Parallel()
	for kind, want := range map[httpapi.RequestLog]int{httpapi.LogNone: 0, httpapi.LogAPI: 1, "": 1, httpapi.LogAll: 3} {
		var log bytes.Buffer
		cfg := httpapitest.Bare()
		cfg.LogRequests, cfg.Logger = kind, slog.New(slog.NewTextHandler(&log, nil))
		handler, err := httpapi.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, visit := range tracedVisits {
			httpapitest.Send(t, handler, visit.method, visit.path, "", traced)
		}
		httpapitest.Equal(t, "logged with "+string(kind), strings.Count(log.String(), "msg=request "), want)
	}
}
