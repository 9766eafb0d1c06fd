//go:build containers

package containers

// Clients and visitors that go on while parts of an installation fail, and what was answered to them.

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

const username = "demo"

// site is an installation as its clients see it.
type site struct {
	base, key string
	http      *http.Client
}

func newSite(base, key string) *site {
	return &site{base, key, &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it signs itself
			MaxIdleConnsPerHost: 16,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type made struct {
	URLs []struct {
		Hash string `json:"hash"`
	} `json:"urls"`
}

// create makes a link, and returns its hash. A client repeats a call by its key.
func (s *site) create(ctx context.Context, target, idempotency string) (string, int, error) {
	body, err := json.Marshal(map[string]any{"urls": []any{map[string]string{"long_url": target}}})
	if err != nil {
		return "", 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/v3/urls", bytes.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	request.SetBasicAuth(username, s.key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", idempotency)
	response, err := s.http.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	var links made
	if err != nil || response.StatusCode != http.StatusOK {
		return "", response.StatusCode, err
	}
	if err := json.Unmarshal(answer, &links); err != nil || len(links.URLs) != 1 || links.URLs[0].Hash == "" {
		return "", response.StatusCode, fmt.Errorf("%w: %s", err, answer)
	}
	return links.URLs[0].Hash, response.StatusCode, nil
}

// visit follows a link, and returns where it leads.
func (s *site) visit(ctx context.Context, hash, agent string) (location string, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/"+hash, nil)
	if err != nil {
		return "", 0, err
	}
	request.Header.Set("User-Agent", "Lynx/2.9 "+agent)
	response, err := s.http.Do(request)
	if err != nil {
		return "", 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.Header.Get("Location"), response.StatusCode, err
}

// load is clients who create and visitors who follow what was answered, until it is stopped.
type load struct {
	site *site
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	links   map[string]string // by hash: where it leads
	hashes  []string
	refused map[string]int // creates that were not answered 200, by how
	denied  map[string]int // visits that were not redirected, by how
	slowest time.Duration  // of visits
	clicks  atomic.Int64   // answered
	repeats atomic.Int64   // creates that a client had to repeat
}

// startLoad starts a load. It ends with the test at the latest.
func startLoad(t *testing.T, s *site, clients, visitors int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &load{
		site: s, stop: stop, links: make(map[string]string),
		refused: make(map[string]int), denied: make(map[string]int),
	}
	t.Cleanup(l.end)
	l.make(ctx, "first")
	for i := range clients {
		l.done.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.make(ctx, fmt.Sprintf("%d-%d", i, n))
			}
		})
	}
	for i := range visitors {
		l.done.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				l.follow(ctx, n)
			}
		})
	}
	return l
}

// end stops the load, and waits for what is on its way.
func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// make creates a link, and repeats the call until it is answered.
func (l *load) make(ctx context.Context, name string) {
	target := "https://example.com/" + name
	call := uuid.NewString()
	for ctx.Err() == nil {
		during, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		hash, status, err := l.site.create(during, target, call)
		cancel()
		if hash != "" {
			l.mu.Lock()
			l.links[hash] = target
			l.hashes = append(l.hashes, hash)
			l.mu.Unlock()
			return
		}
		l.repeats.Add(1)
		l.note(l.refused, status, err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// follow follows one of the links that were answered.
func (l *load) follow(ctx context.Context, n int) {
	l.mu.Lock()
	hash := l.hashes[len(l.hashes)-1]
	if n%2 == 0 { // every other visitor follows an older one
		hash = l.hashes[n%len(l.hashes)]
	}
	target := l.links[hash]
	l.mu.Unlock()
	during, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	began := time.Now()
	location, status, err := l.site.visit(during, hash, fmt.Sprintf("visitor %d", n))
	took := time.Since(began)
	l.mu.Lock()
	l.slowest = max(l.slowest, took)
	l.mu.Unlock()
	if err == nil && status == http.StatusFound && location == target {
		l.clicks.Add(1)
		return
	}
	l.note(l.denied, status, err)
}

func (l *load) note(in map[string]int, status int, err error) {
	how := http.StatusText(status)
	if err != nil {
		how = err.Error()
		if i := strings.LastIndex(how, ": "); i >= 0 { // without the address
			how = how[i+2:]
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	in[how]++
}

// since forgets what was refused so far, and returns it.
func (l *load) since() (refused, denied map[string]int, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	refused, denied, slowest = l.refused, l.denied, l.slowest
	l.refused, l.denied, l.slowest = make(map[string]int), make(map[string]int), 0
	return refused, denied, slowest
}

// made returns how many links were answered.
func (l *load) made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.hashes)
}

// wantAll follows every link that was answered once more.
func (l *load) wantAll(t *testing.T) {
	t.Helper()
	for hash, target := range l.links {
		location, status, err := l.site.visit(t.Context(), hash, "check")
		if err != nil || location != target {
			t.Errorf("%s: %d to %q, %v; want %q", hash, status, location, err, target)
			continue
		}
		l.clicks.Add(1)
	}
}
