package people_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

const (
	codeURLLimit  = 1220
	codeCallLimit = 1303
)

// runAccount runs an operator's command on an account and returns its output.
func runAccount(c *installtest.Cluster, command, username string, args ...string) map[string]any {
	c.T.Helper()
	args = slices.Concat([]string{"account", command, "--username", username, "--json"}, c.Backends(), args)
	out, err := exec.CommandContext(c.T.Context(), e2etest.Program, args...).Output()
	var account map[string]any
	if err == nil {
		err = json.Unmarshal(out, &account)
	}
	if err != nil {
		c.T.Fatalf("%v: %v\n%s", args, err, out)
	}
	return account
}

// setPlan changes the plan of the account and waits until both services know it.
func setPlan(c *installtest.Cluster, plan string) {
	c.T.Helper()
	runAccount(c, "edit", e2etest.DemoUser, "--plan", plan)
	for node := range c.Nodes {
		c.Eventually("the service knows the plan", func() bool {
			account, _ := c.Must(node, "GET", "/account", "")["account"].(map[string]any)
			return account["subscription_plan"] == plan
		})
	}
}

// createdUntilLimit returns the hashes that a batch has created. It checks that they come before the items
// that exceed the limit.
func createdUntilLimit(c *installtest.Cluster, answer map[string]any) (hashes []string) {
	c.T.Helper()
	short := false
	for i, item := range answer["urls"].([]any) {
		url := item.(map[string]any)
		switch code := url["error"].(map[string]any)["code"].(float64); {
		case code == codeURLLimit:
			short = true
		case code != 0:
			c.T.Errorf("item %d: %v", i, url["error"])
		case short:
			c.T.Errorf("item %d was created after an item that exceeded the limit", i)
		default:
			hashes = append(hashes, url["hash"].(string))
		}
	}
	return hashes
}

// items returns the body of a batch of n links.
func items(n int) string {
	return `{"urls":[` + strings.TrimSuffix(strings.Repeat(`{"long_url":"https://example.com/"},`, n), ",") + `]}`
}

// TestLinkLimits checks that 64 clients of two services that create links up to the limit, one by
// one, in batches, and with deletions in between, create exactly as many links as the plan allows.
func TestLinkLimits(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t, "--plans", "single:urls=40;batch:urls=200;month:month-urls=700")
	full := func(round string, want int) {
		t.Helper()
		for node := range c.Nodes { // fills what the deletions have left free
			for len(createdUntilLimit(c, c.Must(node, "POST", "/urls", items(50)))) == 50 {
			}
		}
		if n := c.Total(""); n != float64(want) {
			t.Errorf("%s: %v links, want %d", round, n, want)
		}
	}
	setPlan(c, "single")
	granted := 0
	var hashes []string
	for _, answer := range c.Race("POST", func(int) (string, string) { return "/urls", items(1) }) {
		made := createdUntilLimit(c, answer)
		granted += len(made)
		hashes = append(hashes, made...)
	}
	if n := c.Total(""); n != 40 || granted != 40 {
		t.Errorf("%v links and %d answers, want 40", n, granted)
	}
	if t.Failed() {
		return
	}
	var clients sync.WaitGroup
	for client := range installtest.Racers { // half of the links are deleted while others are created
		clients.Go(func() {
			if client%3 == 0 {
				if _, err := e2etest.Call(
					t.Context(), c.Nodes[client%2], c.Key, "DELETE", "/urls/"+hashes[client/3], "",
				); err != nil {
					t.Error(err)
				}
			}
			answer, err := e2etest.Call(t.Context(), c.Nodes[(client+1)%2], c.Key, "POST", "/urls", items(1))
			if err != nil {
				t.Error(err)
				return
			}
			createdUntilLimit(c, answer)
		})
	}
	clients.Wait()
	full("with deletions", 40)

	setPlan(c, "batch")
	granted = 0
	for _, answer := range c.Race("POST", func(client int) (string, string) { return "/urls", items(client%5 + 1) }) {
		granted += len(createdUntilLimit(c, answer))
	}
	if n := c.Total(""); n != 200 || granted != 160 {
		t.Errorf("%v links and %d answers, want 200 and 160", n, granted)
	}
	c.Must(1, "DELETE", "/urls?tags=>2000-01-01", "")
	setPlan(c, "month")
	c.Race("POST", func(int) (string, string) { return "/urls", items(10) })
	account := c.Must(0, "GET", "/account", "")["account"].(map[string]any)["counters"].(map[string]any)["month_urls"]
	if got := fmt.Sprint(account); got != "map[count:700 limit:700]" {
		t.Errorf("links of the month: %s, want 700", got)
	}
}

// TestLinkLimitsAfterAKill kills a service while it creates links up to the limit. There must never
// be more links than the limit, and in the end exactly as many.
func TestLinkLimitsAfterAKill(t *testing.T) {
	c := installtest.StartCluster(t, "--plans", "free:urls=400")
	var clients sync.WaitGroup
	for client := range installtest.Racers / 4 {
		clients.Go(func() {
			for {
				answer, err := e2etest.Call(t.Context(), c.Nodes[client%2], c.Key, "POST", "/urls", items(client%3+1))
				if err != nil || len(createdUntilLimit(c, answer)) < client%3+1 {
					return // the service was killed, or the plan allows no more
				}
			}
		})
	}
	links := func() float64 {
		return c.Must(0, "GET", "/urls?limit=1", "")["page"].(map[string]any)["total_count"].(float64)
	}
	c.Eventually("some links exist", func() bool { return links() >= 100 })
	c.Second.Kill()
	clients.Wait()
	t.Parallel() // the claims of the killed node end in a minute, during which other tests run
	c.Eventually("there are as many links as the plan allows", func() bool {
		createdUntilLimit(c, c.Must(0, "POST", "/urls", items(1)))
		n := links()
		if n > 400 {
			t.Fatalf("%v links, 400 are allowed", n)
		}
		return n == 400
	})
}

// TestCallLimits checks that 64 clients of two services use up the calls of a day. Each answered
// call is counted, and then both services refuse calls.
func TestCallLimits(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t, "--plans", "free:day-calls=1000")
	day := time.Now().UTC().Day()
	key, _ := runAccount(c, "create", "caller")["api_key"].(string)
	read := func(node int) (counted bool) {
		answer, err := e2etest.CallAs(t.Context(), c.Nodes[node%2], "caller", key, "GET", "/tags", "")
		if answer == nil {
			t.Error(err)
			return false
		}
		return answer["error"].(map[string]any)["code"] != float64(codeCallLimit)
	}
	var answered atomic.Int64
	var clients sync.WaitGroup
	for client := range installtest.Racers {
		clients.Go(func() {
			for read(client) {
				answered.Add(1)
			}
		})
	}
	clients.Wait()
	want := answered.Load()
	if time.Now().UTC().Day() != day {
		return // a new day has begun, and with it a new count
	}
	c.Eventually("all answered calls are shown", func() bool {
		return runAccount(c, "show", "caller")["today_api_calls"] == float64(want)
	})
	for node := range c.Nodes {
		if read(node) {
			t.Errorf("node %d accepts a call above the limit", node)
		}
	}
	t.Logf("%d calls were answered, 1000 are allowed", want)
	if want < 1000 {
		t.Errorf("%d calls were answered, 1000 are allowed", want)
	}
}
