// This file races calls at two services.

package installtest

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
)

// Racers is the number of clients that call at the same time.
const Racers = 64

// Cluster is an installation with a second service process beside the first.
type Cluster struct {
	*Installation
	Nodes  [2]string // base URLs
	Second *Child
}

// StartCluster starts an installation with two services.
func StartCluster(t *testing.T, flags ...string) *Cluster {
	t.Helper()
	// These limits are longer than the defaults, because a busy machine may take more than a second
	// to show a write, and more than 50 ms to store a click.
	flags = append(flags, "--wait-timeout=8s", "--click-patience=5s")
	c := &Cluster{Installation: Install(t, flags...)}
	public, admin := FreeAddress(t), FreeAddress(t)
	c.Second = StartChild(t, e2etest.Program, slices.Concat([]string{
		"serve", "--listen", public, "--admin-listen", admin, "--spool", filepath.Join(c.Folder, "spool2"),
	}, c.Backends(), flags)...)
	c.Nodes = [2]string{c.Base, "http://" + public}
	c.Eventually("both services know the account", func() bool {
		for _, node := range c.Nodes {
			if _, err := e2etest.Call(t.Context(), node, c.Key, "GET", "/account", ""); err != nil {
				select {
				case <-c.Second.Ended:
					t.Fatalf("the second service ended: %s", &c.Second.Output)
				default:
				}
				return false
			}
		}
		return true
	})
	return c
}

// Race makes the calls of all clients at once, half of them on each node, and returns the responses
// in the order of the clients.
func (c *Cluster) Race(method string, request func(client int) (path, body string)) []map[string]any {
	c.T.Helper()
	answers := make([]map[string]any, Racers)
	errs := make([]error, Racers)
	var clients sync.WaitGroup
	start := make(chan struct{})
	for client := range Racers {
		clients.Go(func() {
			<-start
			path, body := request(client)
			answers[client], errs[client] = e2etest.Call(c.T.Context(), c.Nodes[client%2], c.Key, method, path, body)
		})
	}
	close(start)
	clients.Wait()
	for client, err := range errs {
		if err != nil {
			c.T.Errorf("client %d: %v", client, err)
		}
	}
	return answers
}

// EndInUse calls end while all clients call use. It checks that no use succeeds that began after
// end had returned. It returns how many uses succeeded.
func EndInUse(
	t *testing.T, use func(client int) (map[string]any, error), end func(),
) (carriedOut int64) {
	t.Helper()
	var ended atomic.Pointer[time.Time]
	var working, clients sync.WaitGroup
	var successes atomic.Int64
	working.Add(Racers)
	for client := range Racers {
		clients.Go(func() {
			works, refusals := sync.OnceFunc(working.Done), 0
			for refusals < 3 {
				began := time.Now()
				answer, err := use(client)
				code := 0.0
				if err == nil {
					_, code = First(answer)
				}
				at := ended.Load()
				switch {
				case err != nil || code != 0: // the end may refuse each link of a call
					refusals++
					continue
				case at != nil && began.After(*at):
					t.Errorf("a call was carried out that began %v after the answer", began.Sub(*at))
					return
				}
				successes.Add(1)
				works()
			}
			works()
		})
	}
	working.Wait()
	end()
	answered := time.Now()
	ended.Store(&answered)
	clients.Wait()
	return successes.Load()
}

// Must makes a call on one of the nodes, and fails the test if the call fails.
func (c *Cluster) Must(node int, method, path, body string) map[string]any {
	c.T.Helper()
	answer, err := e2etest.Call(c.T.Context(), c.Nodes[node%2], c.Key, method, path, body)
	if err != nil {
		c.T.Fatal(err)
	}
	return answer
}

// First returns the first URL of a response, and its error code.
func First(answer map[string]any) (url map[string]any, code float64) {
	url = answer["urls"].([]any)[0].(map[string]any)
	if problem, failed := url["error"].(map[string]any); failed {
		code = problem["code"].(float64)
	}
	return url, code
}

// Total returns how many URLs a list has, and checks that both nodes return the same number.
func (c *Cluster) Total(query string) float64 {
	c.T.Helper()
	var totals [2]float64
	for node := range c.Nodes {
		totals[node] = c.Must(node, "GET", "/urls?"+query, "")["page"].(map[string]any)["total_count"].(float64)
	}
	if totals[0] != totals[1] {
		c.T.Errorf("%s: the nodes count %v", query, totals)
	}
	return totals[0]
}
