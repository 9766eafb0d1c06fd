package operations_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
)

var taggedLinks = flag.Int(
	"tagged-links", 800, "links that TestTagged changes by their tag; make tagged takes 10,000 and 100,000",
)

// totalOf returns how many links match an expression.
func totalOf(d *e2etest.Dev, expression string) int {
	d.T.Helper()
	answer, err := e2etest.Call(d.T.Context(), d.Base, d.Key, "GET", "/urls?limit=1&tags="+expression, "")
	if err != nil {
		d.T.Fatal(err)
	}
	return int(answer["page"].(map[string]any)["total_count"].(float64))
}

// heapOf returns the memory in use on the process's heap, in MiB.
func heapOf(ctx context.Context, d *e2etest.Dev) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Admin+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "go_memstats_heap_inuse_bytes "); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			return bytes / (1 << 20), err
		}
	}
	return 0, errors.New("no heap among the metrics")
}

// createTagged creates links with a tag, as many per call as the API allows.
func createTagged(d *e2etest.Dev, n int, tag string) {
	d.T.Helper()
	item := `{"long_url":"https://example.com/","tags":["` + tag + `"]}`
	var workers sync.WaitGroup
	batches := make(chan int)
	for range 4 {
		workers.Go(func() {
			for size := range batches {
				if _, err := e2etest.Call(d.T.Context(), d.Base, d.Key, "POST", "/urls",
					`{"urls":[`+strings.Repeat(item+",", size-1)+item+`]}`); err != nil {
					d.T.Error(err)
				}
			}
		})
	}
	for ; n > 0; n -= 50 {
		batches <- min(n, 50)
	}
	close(batches)
	workers.Wait()
}

// changeTagged makes a call on the tagged links and logs its duration and the peak of the heap.
func changeTagged(d *e2etest.Dev, method, path, body string) {
	d.T.Helper()
	ctx, done := context.WithCancel(d.T.Context())
	most := make(chan float64, 1)
	go func() {
		peak := 0.0
		for ticker := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				most <- peak
				return
			case <-ticker.C:
			}
			if used, err := heapOf(ctx, d); err == nil {
				peak = max(peak, used)
			}
		}
	}()
	start := time.Now()
	if _, err := e2etest.Call(d.T.Context(), d.Base, d.Key, method, path, body); err != nil {
		d.T.Errorf("%s %s: %v", method, path, err)
	}
	took := time.Since(start)
	done()
	d.T.Logf("%s %s: %.1f s, %.0f MiB", method, path, took.Seconds(), <-most)
}

// killWithin makes a call and kills the process as soon as the number of links that match an
// expression changes.
func killWithin(d *e2etest.Dev, expression, method, path, body string) {
	d.T.Helper()
	before := totalOf(d, expression)
	var called sync.WaitGroup
	called.Go(func() {
		if _, err := e2etest.Call(d.T.Context(), d.Base, d.Key, method, path, body); err == nil {
			d.T.Errorf("%s %s was answered before the process was killed", method, path)
		}
	})
	for totalOf(d, expression) == before { // until the test times out
		continue
	}
	d.Kill()
	<-d.Ended
	called.Wait()
}

// TestTagged checks that a change of all links with a tag that was interrupted by a kill is
// completed by the same call.
func TestTagged(t *testing.T) {
	t.Parallel()
	folder, n := filepath.Join(t.TempDir(), "data"), *taggedLinks
	d := e2etest.StartDev(t, folder)
	key := d.Key
	again := func() {
		d = e2etest.StartDev(t, folder)
		d.Key = key
	}
	expect := func(expression string, want int) {
		t.Helper()
		if got := totalOf(d, expression); got != want {
			t.Errorf("%s: %d links, want %d", expression, got, want)
		}
	}
	createTagged(d, n, "t")
	createTagged(d, 10, "other")
	expect("t", n)

	archive := `{"urls":[{"archived":true}]}`
	killWithin(d, "archived", "PATCH", "/urls?tags=t", archive)
	again()
	if done := totalOf(d, "archived"); done == 0 || done == n {
		t.Errorf("%d of %d links were archived when the process was killed", done, n)
	}
	changeTagged(d, "PATCH", "/urls?tags=t", archive)
	expect("archived", n)
	expect("other,~archived", 10)
	changeTagged(d, "DELETE", "/stats?tags=t", "")

	killWithin(d, "t", "DELETE", "/urls?tags=t", "")
	again()
	if left := totalOf(d, "t"); left == 0 || left == n {
		t.Errorf("%d of %d links were left when the process was killed", left, n)
	}
	changeTagged(d, "DELETE", "/urls?tags=t", "")
	expect("t", 0)
	expect("other", 10)
}
