package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bunrouter"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/fastpath"
	"linkledger/httpapi/shortlink"
)

// benchConnections is the number of concurrent visitors. Each has its own connection.
const benchConnections = 64

// BenchmarkRedirect sends visitors through the real handler, which responds when the click is on
// disk. It alternates with a bare router that returns the same redirect from a constant, so that
// both run under the same conditions, and reports the ratio. Afterwards the clicks in the read
// model must equal the redirects.
func BenchmarkRedirect(b *testing.B) {
	for _, size := range []struct {
		name  string
		links int
	}{{"hot", 1}, {"links=10000", 10_000}} {
		b.Run(size.name, func(b *testing.B) {
			s := newStackOn(b, eventstoretest.ServeFolder(b, b.TempDir()), withLiveClock)
			owner := s.client(b, "ada")
			hashes := createMany(owner, size.links)
			ours, control := dialMany(b, s.handler, fastPathOf(s.handler)), dialMany(b, constantRedirect(), nil)
			before := s.clicksInReadModel(b)
			ours.visit(b, hashes, size.links+4*benchConnections) // warms the cache
			control.visit(b, hashes, 4*benchConnections)
			ours.reset()
			control.reset()
			b.ResetTimer()
			const turn = 1 << 14
			for done := 0; done < b.N; done += turn {
				ours.visit(b, hashes, min(turn, b.N-done))
				control.visit(b, hashes, min(turn, b.N-done))
			}
			b.StopTimer()
			s.caughtUp(b)
			if counted := s.clicksInReadModel(b) - before; counted != ours.answered {
				b.Errorf("%d clicks are counted, there were %d redirects", counted, ours.answered)
			}
			b.ReportMetric(ours.rate(), "redirects/s")
			b.ReportMetric(ours.rate()/control.rate(), "of-bare")
			b.ReportMetric(ours.percentile(50), "p50-ms")
			b.ReportMetric(ours.percentile(99), "p99-ms")
			b.ReportMetric(ours.percentile(99)/control.percentile(99), "p99-of-bare")
		})
	}
}

func withLiveClock(cfg *Config) { cfg.Now = time.Now }

// constantRedirect is the control: the same router and server without storage.
func constantRedirect() http.Handler {
	router := bunrouter.New()
	router.GET("/:hash", func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Location", "https://example.com/a/long/enough/path?with=query")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusFound)
		return nil
	})
	return router
}

// createMany creates n links in batches and returns their hashes.
func createMany(c *client, n int) []string {
	c.t.Helper()
	var hashes []string
	for len(hashes) < n {
		for _, item := range c.must(http.MethodPost, "/v3/urls", batch(min(50, n-len(hashes)))).URLs {
			hashes = append(hashes, item.Hash)
		}
	}
	return hashes
}

func (s *stack) clicksInReadModel(t testing.TB) int64 {
	t.Helper()
	var total int64
	if err := s.db.NewRaw("SELECT coalesce(sum(total_clicks), 0) FROM linkledger.link_stats").Scan(
		withTimeout(t), &total,
	); err != nil {
		t.Fatal(err)
	}
	return total
}

// visitors are connections to one server, with their results.
type visitors struct {
	connections []net.Conn
	answered    int64 // redirects since the connections were opened
	elapsed     time.Duration
	latencies   []time.Duration
}

// fastPathOf returns a listener with the fast path that the program uses.
func fastPathOf(handler http.Handler) func(net.Listener) net.Listener {
	return func(listener net.Listener) net.Listener {
		return fastpath.Listen(listener, fastpath.Config{
			Handler: handler, Eligible: shortlink.IsPath, HeadTimeout: testTimeout, WriteTimeout: testTimeout,
			IdleTimeout: testTimeout, ErrorLog: log.Default(),
		})
	}
}

// dialMany serves a handler and connects to it. before, which may be nil, wraps the listener.
func dialMany(t testing.TB, handler http.Handler, before func(net.Listener) net.Listener) *visitors {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if before != nil {
		listener = before(listener)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: testTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	v := &visitors{connections: make([]net.Conn, benchConnections)}
	for i := range v.connections {
		if v.connections[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = v.connections[i].Close() })
	}
	return v
}

func (v *visitors) reset() { v.elapsed, v.latencies = 0, nil }

func (v *visitors) rate() float64 { return float64(len(v.latencies)) / v.elapsed.Seconds() }

func (v *visitors) percentile(p int) float64 {
	slices.Sort(v.latencies)
	return float64(v.latencies[(len(v.latencies)-1)*p/100]) / float64(time.Millisecond)
}

// visit makes n visits over all connections.
func (v *visitors) visit(t testing.TB, hashes []string, n int) {
	t.Helper()
	var (
		next atomic.Int64
		all  sync.WaitGroup
		met  = make([][]time.Duration, len(v.connections))
	)
	start := time.Now()
	for i, connection := range v.connections {
		all.Go(func() {
			answers := bufio.NewReader(connection)
			request := make([]byte, 0, 256)
			for j := next.Add(1); j <= int64(n); j = next.Add(1) {
				sent := time.Now()
				request = fmt.Appendf(request[:0], "GET /%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: visitor %d\r\n\r\n",
					hashes[int(j*7919)%len(hashes)], shortHost, i)
				if _, err := connection.Write(request); err != nil {
					t.Error(err)
					return
				}
				if err := readRedirect(answers); err != nil {
					t.Error(err)
					return
				}
				met[i] = append(met[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	v.elapsed += time.Since(start)
	for _, latencies := range met {
		v.answered += int64(len(latencies))
		v.latencies = append(v.latencies, latencies...)
	}
}

// readRedirect reads a response without a body.
func readRedirect(answers *bufio.Reader) error {
	status, err := answers.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 302 ")) {
		return fmt.Errorf("answered %q", status)
	}
	for {
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			return nil
		}
	}
}
