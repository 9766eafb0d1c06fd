package e2e

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
)

const (
	codeURLLimit  = 1220
	codeCallLimit = 1303
)

// runAccount runs an operator's command on an account and returns its output.
func runAccount(c *cluster, command, username string, args ...string) map[string]any {
	c.t.Helper()
	args = slices.Concat([]string{"account", command, "--username", username, "--json"}, c.backends(), args)
	out, err := exec.CommandContext(c.t.Context(), program, args...).Output()
	var account map[string]any
	if err == nil {
		err = json.Unmarshal(out, &account)
	}
	if err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return account
}

// setPlan changes the plan of the account and waits until both services know it.
func setPlan(c *cluster, plan string) {
	c.t.Helper()
	runAccount(c, "edit", demoUser, "--plan", plan)
	for node := range c.nodes {
		c.eventually("the service knows the plan", func() bool {
			account, _ := c.must(node, "GET", "/account", "")["account"].(map[string]any)
			return account["subscription_plan"] == plan
		})
	}
}

// createdUntilLimit returns the hashes that a batch has created. It checks that they come before the items
// that exceed the limit.
func createdUntilLimit(c *cluster, answer map[string]any) (hashes []string) {
	c.t.Helper()
	short := false
	for i, item := range answer["urls"].([]any) {
		url := item.(map[string]any)
		switch code := url["error"].(map[string]any)["code"].(float64); {
		case code == codeURLLimit:
			short = true
		case code != 0:
			c.t.Errorf("item %d: %v", i, url["error"])
		case short:
			c.t.Errorf("item %d was created after an item that exceeded the limit", i)
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
	c := startCluster(t, "--plans", "single:urls=40;batch:urls=200;month:month-urls=700")
	full := func(round string, want int) {
		t.Helper()
		for node := range c.nodes { // fills what the deletions have left free
			for len(createdUntilLimit(c, c.must(node, "POST", "/urls", items(50)))) == 50 {
			}
		}
		if n := c.total(""); n != float64(want) {
			t.Errorf("%s: %v links, want %d", round, n, want)
		}
	}
	setPlan(c, "single")
	granted := 0
	var hashes []string
	for _, answer := range c.race("POST", func(int) (string, string) { return "/urls", items(1) }) {
		made := createdUntilLimit(c, answer)
		granted += len(made)
		hashes = append(hashes, made...)
	}
	if n := c.total(""); n != 40 || granted != 40 {
		t.Errorf("%v links and %d answers, want 40", n, granted)
	}
	if t.Failed() {
		return
	}
	var clients sync.WaitGroup
	for client := range racers { // half of the links are deleted while others are created
		clients.Go(func() {
			if client%3 == 0 {
				if _, err := call(
					t.Context(), c.nodes[client%2], c.key, "DELETE", "/urls/"+hashes[client/3], "",
				); err != nil {
					t.Error(err)
				}
			}
			answer, err := call(t.Context(), c.nodes[(client+1)%2], c.key, "POST", "/urls", items(1))
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
	for _, answer := range c.race("POST", func(client int) (string, string) { return "/urls", items(client%5 + 1) }) {
		granted += len(createdUntilLimit(c, answer))
	}
	if n := c.total(""); n != 200 || granted != 160 {
		t.Errorf("%v links and %d answers, want 200 and 160", n, granted)
	}
	c.must(1, "DELETE", "/urls?tags=>2000-01-01", "")
	setPlan(c, "month")
	c.race("POST", func(int) (string, string) { return "/urls", items(10) })
	account := c.must(0, "GET", "/account", "")["account"].(map[string]any)["counters"].(map[string]any)["month_urls"]
	if got := fmt.Sprint(account); got != "map[count:700 limit:700]" {
		t.Errorf("links of the month: %s, want 700", got)
	}
}

// TestLinkLimitsAfterAKill kills a service while it creates links up to the limit. There must never
// be more links than the limit, and in the end exactly as many.
func TestLinkLimitsAfterAKill(t *testing.T) {
	c := startCluster(t, "--plans", "free:urls=400")
	var clients sync.WaitGroup
	for client := range racers / 4 {
		clients.Go(func() {
			for {
				answer, err := call(t.Context(), c.nodes[client%2], c.key, "POST", "/urls", items(client%3+1))
				if err != nil || len(createdUntilLimit(c, answer)) < client%3+1 {
					return // the service was killed, or the plan allows no more
				}
			}
		})
	}
	links := func() float64 {
		return c.must(0, "GET", "/urls?limit=1", "")["page"].(map[string]any)["total_count"].(float64)
	}
	c.eventually("some links exist", func() bool { return links() >= 100 })
	c.second.kill()
	clients.Wait()
	t.Parallel() // the claims of the killed node end in a minute, during which other tests run
	c.eventually("there are as many links as the plan allows", func() bool {
		createdUntilLimit(c, c.must(0, "POST", "/urls", items(1)))
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
	c := startCluster(t, "--plans", "free:day-calls=1000")
	day := time.Now().UTC().Day()
	key, _ := runAccount(c, "create", "caller")["api_key"].(string)
	read := func(node int) (counted bool) {
		answer, err := callAs(t.Context(), c.nodes[node%2], "caller", key, "GET", "/tags", "")
		if answer == nil {
			t.Error(err)
			return false
		}
		return answer["error"].(map[string]any)["code"] != float64(codeCallLimit)
	}
	var answered atomic.Int64
	var clients sync.WaitGroup
	for client := range racers {
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
	c.eventually("all answered calls are shown", func() bool {
		return runAccount(c, "show", "caller")["today_api_calls"] == float64(want)
	})
	for node := range c.nodes {
		if read(node) {
			t.Errorf("node %d accepts a call above the limit", node)
		}
	}
	t.Logf("%d calls were answered, 1000 are allowed", want)
	if want < 1000 {
		t.Errorf("%d calls were answered, 1000 are allowed", want)
	}
}
