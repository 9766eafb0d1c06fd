package operations_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// receiver is a collector of traces.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu      sync.Mutex
	spans   []*otlp.Span
	service string
}

// Export implements collector.TraceServiceServer.
func (r *receiver) Export(
	_ context.Context, request *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, from := range request.GetResourceSpans() {
		for _, described := range from.GetResource().GetAttributes() {
			if described.GetKey() == "service.name" {
				r.service = described.GetValue().GetStringValue()
			}
		}
		for _, scope := range from.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// find returns the first span that meets a condition.
func (r *receiver) find(is func(*otlp.Span) bool) *otlp.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.spans {
		if is(span) {
			return span
		}
	}
	return nil
}

func startReceiver(t *testing.T) (*receiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return r, "http://" + listener.Addr().String()
}

func attributeOf(span *otlp.Span, key string) string {
	for _, a := range span.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// linksTo reports whether a span has a link to another span.
func linksTo(span, other *otlp.Span) bool {
	for _, link := range span.GetLinks() {
		if string(link.GetSpanId()) == string(other.GetSpanId()) &&
			string(link.GetTraceId()) == string(other.GetTraceId()) {
			return true
		}
	}
	return false
}

// TestTraces checks that a collector receives the traces of a write and of a click: from the
// request, in the client's trace, through the append to the batch that applies its event.
func TestTraces(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	i.Service.Kill()
	received, endpoint := startReceiver(t)
	i.Environment = []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_SERVICE_NAME=shortener", "OTEL_BSP_SCHEDULE_DELAY=100",
	}
	i.Flags = []string{"--traces", "--log-requests=none"}
	i.StartService()
	i.Eventually("the account is known", func() bool { return i.Clicks() == 0 })

	request, err := e2etest.APIRequest(
		t.Context(), i.Base, e2etest.DemoUser, i.Key, http.MethodPost, "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"traced"}]}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	const trace = "0af7651916cd43dd8448eb211c80319c"
	request.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	request.Header.Set("X-Request-Id", "traced-request")
	if _, err := e2etest.AnswerTo(request); err != nil {
		t.Fatal(err)
	}
	i.Eventually("the visitor is redirected", func() bool { // after the lease of the killed service has expired
		redirected, err := e2etest.Visit(t.Context(), i.Base, "traced", "visitor")
		return err == nil && redirected
	})

	await := func(what string, is func(*otlp.Span) bool) (span *otlp.Span) {
		t.Helper()
		i.Eventually(what, func() bool { span = received.find(is); return span != nil })
		return span
	}
	named := func(name string) func(*otlp.Span) bool {
		return func(span *otlp.Span) bool { return span.GetName() == name }
	}
	create := await("the request", named("POST /v3/urls"))
	if got := attributeOf(create, "linkledger.request"); got != "traced-request" {
		t.Errorf("the span of request %q", got)
	}
	appended := await("the append", func(span *otlp.Span) bool {
		return span.GetName() == "append" && strings.HasPrefix(attributeOf(span, "linkledger.stream"), "url-")
	})
	if string(appended.GetParentSpanId()) != string(create.GetSpanId()) ||
		attributeOf(appended, "linkledger.correlation_id") != "traced-request" {
		t.Errorf("the append %v is not within the request %v", appended, create)
	}
	await("the batch that folds the link", func(span *otlp.Span) bool {
		return span.GetName() == "project links" && linksTo(span, appended)
	})

	clicks := await("the clicks", named("record clicks"))
	await(
		"the redirect of the click",
		func(span *otlp.Span) bool { return span.GetName() == "GET /:hash" && linksTo(clicks, span) },
	)
	clicked := await("their append", func(span *otlp.Span) bool {
		return span.GetName() == "append" && string(span.GetParentSpanId()) == string(clicks.GetSpanId())
	})
	await("the batch that counts the click", func(span *otlp.Span) bool {
		return span.GetName() == "project links" && linksTo(span, clicked)
	})
	received.mu.Lock()
	service := received.service
	received.mu.Unlock()
	if service != "shortener" {
		t.Errorf("traces of the service %q", service)
	}
	if err := i.Service.Process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-i.Service.Ended
	if code := i.Service.Process.ProcessState.ExitCode(); code != 0 ||
		strings.Contains(i.Service.Output.String(), "msg=request") {
		t.Errorf("stopped with %d:\n%s", code, &i.Service.Output)
	}
}
