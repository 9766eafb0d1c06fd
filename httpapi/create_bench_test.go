package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/commands/domain"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
)

// creators is the number of clients that create links concurrently.
const creators = 16

// BenchmarkCreate creates links over HTTP, one or fifty per call. Each link is durable and readable
// when the call returns. The benchmark alternates with a server that only reads the body, and
// reports the ratio. The variants with limits also count links against them.
func BenchmarkCreate(b *testing.B) {
	limits := domain.Plan{URLs: 1 << 40, MonthURLs: 1 << 40}
	for _, variant := range []struct {
		batch int
		name  string
		plan  domain.Plan
	}{{1, "", domain.Plan{}}, {50, "", domain.Plan{}}, {1, ", limited", limits}, {50, ", limited", limits}} {
		b.Run(fmt.Sprintf("%d per call%s", variant.batch, variant.name), func(b *testing.B) {
			batch := variant.batch
			s := httpapitest.NewOn(b, eventstoretest.ServeFolder(b, b.TempDir()), func(cfg *httpapi.Config) {
				cfg.Plans = map[string]domain.Plan{"free": variant.plan}
			})
			c := s.Client(b, "demo")
			server := httptest.NewServer(s.Server)
			b.Cleanup(server.Close)
			control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusOK)
			}))
			b.Cleanup(control.Close)
			body := []byte(
				`{"urls":[` + strings.TrimSuffix(
					strings.Repeat(`{"long_url":"https://example.com/some/path?with=query"},`, batch), ",",
				) + `]}`,
			)
			const turn = 512 // calls
			var creating, controlling time.Duration
			calls := (b.N + batch - 1) / batch
			for done := 0; done < calls; done += turn {
				n := min(turn, calls-done)
				creating += post(b, n, server.URL+"/v3/urls", c, body)
				controlling += post(b, n, control.URL, c, body)
			}
			b.ReportMetric(float64(calls*batch)/creating.Seconds(), "links/s")
			b.ReportMetric(float64(calls*batch)/controlling.Seconds(), "control/s")
			b.ReportMetric(controlling.Seconds()/creating.Seconds(), "ratio")
		})
	}
}

// post makes n calls from all creators and returns how long they took.
func post(b *testing.B, n int, url string, c *httpapitest.Client, body []byte) time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: creators}
	defer transport.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range creators {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				request.SetBasicAuth(c.Username, c.Key)
				request.Header.Set("Content-Type", "application/json")
				response, err := transport.RoundTrip(request)
				if err != nil {
					b.Error(err)
					return
				}
				answer, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"code":1`)) {
					b.Errorf("%d %v %.300s", response.StatusCode, err, answer)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}
