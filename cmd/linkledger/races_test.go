package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// racers is how many clients call at the same time.
const racers = 64

// cluster is an installation with a second service process beside the first.
type cluster struct {
	*installation
	nodes  [2]string // base URLs
	second *child
}

func startCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	c := &cluster{installation: install(t, flags...)}
	public, admin := freeAddress(t), freeAddress(t)
	c.second = startChild(t, program, slices.Concat([]string{
		"serve", "--listen", public, "--admin-listen", admin, "--spool", filepath.Join(c.folder, "spool2"),
	}, c.backends(), flags)...)
	c.nodes = [2]string{c.base, "http://" + public}
	c.eventually("both services know the account", func() bool {
		for _, node := range c.nodes {
			if _, err := call(t.Context(), node, c.key, "GET", "/account", ""); err != nil {
				select {
				case <-c.second.ended:
					t.Fatalf("the second service ended: %s", &c.second.output)
				default:
				}
				return false
			}
		}
		return true
	})
	return c
}

// race has all clients make their call at once, half of them through each node, and returns the answers in the order of
// the clients.
func (c *cluster) race(method string, request func(client int) (path, body string)) []map[string]any {
	c.t.Helper()
	answers := make([]map[string]any, racers)
	errs := make([]error, racers)
	var clients sync.WaitGroup
	start := make(chan struct{})
	for client := range racers {
		clients.Go(func() {
			<-start
			path, body := request(client)
			answers[client], errs[client] = call(c.t.Context(), c.nodes[client%2], c.key, method, path, body)
		})
	}
	close(start)
	clients.Wait()
	for client, err := range errs {
		if err != nil {
			c.t.Errorf("client %d: %v", client, err)
		}
	}
	return answers
}

// must calls through one of the nodes.
func (c *cluster) must(node int, method, path, body string) map[string]any {
	c.t.Helper()
	answer, err := call(c.t.Context(), c.nodes[node%2], c.key, method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// first returns the first URL of an answer, and the code of its error.
func first(answer map[string]any) (url map[string]any, code float64) {
	url = answer["urls"].([]any)[0].(map[string]any)
	if problem, failed := url["error"].(map[string]any); failed {
		code = problem["code"].(float64)
	}
	return url, code
}

// total is how many URLs a list has, which has to be the same through both nodes.
func (c *cluster) total(query string) float64 {
	c.t.Helper()
	var totals [2]float64
	for node := range c.nodes {
		totals[node] = c.must(node, "GET", "/urls?"+query, "")["page"].(map[string]any)["total_count"].(float64)
	}
	if totals[0] != totals[1] {
		c.t.Errorf("%s: the nodes count %v", query, totals)
	}
	return totals[0]
}

// winner demands that exactly one answer is a success, and all others the one refusal.
func (c *cluster) winner(answers []map[string]any, refusal float64) int {
	c.t.Helper()
	winner := -1
	for client, answer := range answers {
		switch _, code := first(answer); {
		case code == 0 && winner >= 0:
			c.t.Errorf("clients %d and %d both won", winner, client)
		case code == 0:
			winner = client
		case code != refusal:
			c.t.Errorf("client %d was refused with %v, want %v", client, code, refusal)
		}
	}
	if winner < 0 {
		c.t.Fatal("nobody won")
	}
	return winner
}

// Each race is between clients of two service processes on one event store and one database.
func TestRaces(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	const hashTaken = 1215

	won := c.winner(c.race("POST", func(client int) (string, string) {
		return "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/hash/%d","custom_hash":"prize"}]}`, client)
	}), hashTaken)
	for node := range c.nodes {
		got, _ := first(c.must(node, "GET", "/urls/prize", ""))
		if want := fmt.Sprintf("https://example.com/hash/%d", won); got["long_url"] != want {
			t.Errorf("the hash leads to %v, its winner wanted %s", got["long_url"], want)
		}
	}

	hashes := make(map[string]bool)
	for _, answer := range c.race("POST", func(client int) (string, string) {
		return "/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/unique"}]}`
	}) {
		url, code := first(answer)
		if code != 0 {
			t.Errorf("a unique long URL: %v", answer)
		}
		hashes[url["hash"].(string)] = true
	}
	if n := c.total("search=unique"); len(hashes) != 1 || n != 1 {
		t.Errorf("one long URL became %v, the lists have %v", hashes, n)
	}

	for client := range racers {
		c.must(client, "POST", "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/rename","custom_hash":"from%d"}]}`, client))
	}
	won = c.winner(c.race("PATCH", func(client int) (string, string) {
		return fmt.Sprintf("/urls/from%d", client), `{"urls":[{"custom_hash":"target"}]}`
	}), hashTaken)
	if n := c.total("search=rename"); n != racers {
		t.Errorf("%v links after the renames, want %d", n, racers)
	}
	if _, err := call(t.Context(), c.nodes[0], c.key, "GET", fmt.Sprintf("/urls/from%d", won), ""); err == nil {
		t.Error("the renamed link still has its old hash")
	}

	c.race("POST", func(int) (string, string) { return "/tags", `{"label":"Same"}` })
	for node := range c.nodes {
		if tags := c.must(node, "GET", "/tags", "")["tags"].([]any); len(tags) != 1 {
			t.Errorf("node %d has the tags %v", node, tags)
		}
	}

	c.race("PATCH", func(client int) (string, string) {
		return "/urls/prize", fmt.Sprintf(`{"urls":[{"tags":["+edit %d"]}]}`, client)
	})
	for node := range c.nodes {
		got, _ := first(c.must(node, "GET", "/urls/prize", ""))
		if tags := got["tags"].([]any); len(tags) != racers {
			t.Errorf("%d of %d edits are left: %v", len(tags), racers, tags)
		}
	}
}

// What one node has answered every read of the other shows.
func TestWritesAreReadThroughTheOtherNode(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	list := func(node int, query string) string {
		t.Helper()
		var hashes []string
		for _, url := range c.must(node, "GET", "/urls?order_by=hash&"+query, "")["urls"].([]any) {
			hashes = append(hashes, url.(map[string]any)["hash"].(string))
		}
		return strings.Join(hashes, ",")
	}
	for round := range 10 {
		writer, reader := round, round+1
		old, renamed, tag := fmt.Sprintf("old%d", round), fmt.Sprintf("new%d", round), fmt.Sprintf("tag%d", round)
		expect := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("round %d, %s: %s, want %s", round, what, got, want)
			}
		}
		c.must(writer, "POST", "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s","custom_hash":%q,"tags":[%q]}]}`, tag, old, tag))
		expect("list", list(reader, "limit=1000"), old)
		expect("search", list(reader, "search="+tag), old)
		expect("tags", list(reader, "tags="+tag), old)
		expect("hashes", list(reader, "hashes="+old), old)

		c.must(writer, "PATCH", "/urls/"+old, fmt.Sprintf(`{"urls":[{"custom_hash":%q,"tags":["-%s"],"archived":true}]}`, renamed, tag))
		expect("renamed", list(reader, "tags=archived"), renamed)
		expect("untagged", list(reader, "tags="+tag), "")
		c.must(writer, "PATCH", "/urls?tags=archived", `{"urls":[{"archived":false,"note":"done"}]}`)
		expect("edited by tag", list(reader, "search=done"), renamed)
		expect("no longer archived", list(reader, "tags=archived"), "")

		if redirected, err := visit(t.Context(), c.nodes[reader%2], renamed, "agent"); err != nil || !redirected {
			t.Errorf("round %d: the other node does not know %s: %v", round, renamed, err)
		}
		c.must(writer, "DELETE", "/urls?hashes="+renamed, "")
		expect("deleted", list(reader, "limit=1000"), "")
		if redirected, err := visit(t.Context(), c.nodes[reader%2], renamed, "agent"); err != nil || redirected {
			t.Errorf("round %d: the other node still redirects %s: %v", round, renamed, err)
		}
		c.must(writer, "DELETE", "/tags/"+tag, "")
		tags := c.must(reader, "GET", "/tags", "")["tags"].([]any)
		if slices.ContainsFunc(tags, func(t any) bool { return t.(map[string]any)["label"] == tag }) {
			t.Errorf("round %d: the tag is still there: %v", round, tags)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
