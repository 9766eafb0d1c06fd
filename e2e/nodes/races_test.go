package nodes_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// theWinner checks that exactly one response is a success and that all others are the given refusal.
// It returns the index of the success.
func theWinner(c *installtest.Cluster, answers []map[string]any, refusal float64) int {
	c.T.Helper()
	winner := -1
	for client, answer := range answers {
		switch _, code := installtest.First(answer); {
		case code == 0 && winner >= 0:
			c.T.Errorf("clients %d and %d both won", winner, client)
		case code == 0:
			winner = client
		case code != refusal:
			c.T.Errorf("client %d was refused with %v, want %v", client, code, refusal)
		}
	}
	if winner < 0 {
		c.T.Fatal("no client won")
	}
	return winner
}

// TestRaces races clients of two service processes on one event store and one database.
func TestRaces(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t)
	const hashTaken = 1215

	won := theWinner(c, c.Race("POST", func(client int) (string, string) {
		return "/urls", fmt.Sprintf(
			`{"urls":[{"long_url":"https://example.com/hash/%d","custom_hash":"prize"}]}`, client,
		)
	}), hashTaken)
	for node := range c.Nodes {
		got, _ := installtest.First(c.Must(node, "GET", "/urls/prize", ""))
		if want := fmt.Sprintf("https://example.com/hash/%d", won); got["long_url"] != want {
			t.Errorf("the hash leads to %v, its winner wanted %s", got["long_url"], want)
		}
	}

	hashes := make(map[string]bool)
	for _, answer := range c.Race("POST", func(client int) (string, string) {
		return "/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/unique"}]}`
	}) {
		url, code := installtest.First(answer)
		if code != 0 {
			t.Errorf("a unique long URL: %v", answer)
		}
		hashes[url["hash"].(string)] = true
	}
	if n := c.Total("search=unique"); len(hashes) != 1 || n != 1 {
		t.Errorf("one long URL became %v, the lists have %v", hashes, n)
	}

	for client := range installtest.Racers {
		c.Must(
			client, "POST", "/urls",
			fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/rename","custom_hash":"from%d"}]}`, client),
		)
	}
	won = theWinner(c, c.Race("PATCH", func(client int) (string, string) {
		return fmt.Sprintf("/urls/from%d", client), `{"urls":[{"custom_hash":"target"}]}`
	}), hashTaken)
	if n := c.Total("search=rename"); n != installtest.Racers {
		t.Errorf("%v links after the renames, want %d", n, installtest.Racers)
	}
	if _, err := e2etest.Call(t.Context(), c.Nodes[0], c.Key, "GET", fmt.Sprintf("/urls/from%d", won), ""); err == nil {
		t.Error("the renamed link still has its old hash")
	}

	c.Race("POST", func(int) (string, string) { return "/tags", `{"label":"Same"}` })
	for node := range c.Nodes {
		if tags := c.Must(node, "GET", "/tags", "")["tags"].([]any); len(tags) != 1 {
			t.Errorf("node %d has the tags %v", node, tags)
		}
	}

	c.Race("PATCH", func(client int) (string, string) {
		return "/urls/prize", fmt.Sprintf(`{"urls":[{"tags":["+edit %d"]}]}`, client)
	})
	for node := range c.Nodes {
		got, _ := installtest.First(c.Must(node, "GET", "/urls/prize", ""))
		if tags := got["tags"].([]any); len(tags) != installtest.Racers {
			t.Errorf("%d of %d edits are left: %v", len(tags), installtest.Racers, tags)
		}
	}
}

// TestLastClicks checks that a link with a limit redirects exactly as many visitors as its limit
// allows when they come to both nodes at once.
func TestLastClicks(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t)
	const visitors, limit, used = 200, 30, 3
	c.Must(
		0, "POST", "/urls",
		fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","custom_hash":"last","max_clicks":%d}]}`, limit),
	)
	var redirected, gone atomic.Int64
	come := func(visitor int) {
		switch status, err := e2etest.VisitStatus(t.Context(), c.Nodes[visitor%2], "last", fmt.Sprint("visitor ", visitor)); {
		case err != nil:
			t.Errorf("visitor %d: %v", visitor, err)
		case status == http.StatusFound:
			redirected.Add(1)
		case status == http.StatusGone:
			gone.Add(1)
		default:
			t.Errorf("response to visitor %d: %d", visitor, status)
		}
	}
	c.Eventually("both nodes know the link", func() bool {
		status, err := e2etest.VisitStatus(t.Context(), c.Nodes[1], "last", "Googlebot/2.1") // visits of bots do not count
		return err == nil && status == http.StatusFound
	})
	for visitor := range used {
		come(visitor)
	}
	var all sync.WaitGroup
	start := make(chan struct{})
	for visitor := range visitors {
		all.Go(func() {
			<-start
			come(visitor)
		})
	}
	close(start)
	all.Wait()
	if redirected.Load() != limit || gone.Load() != visitors+used-limit {
		t.Errorf(
			"%d visitors were redirected and %d refused, want %d and %d", redirected.Load(), gone.Load(), limit,
			visitors+used-limit,
		)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestWritesAreReadThroughEitherNode checks that every read on either node shows a confirmed write,
// for each kind of write.
func TestWritesAreReadThroughEitherNode(t *testing.T) {
	t.Parallel()
	c := installtest.StartCluster(t)
	for round := range 6 {
		w := &writes{Cluster: c, writer: round, round: round}
		w.links()
		w.groups()
		w.tags()
		w.stats()
	}
	http.DefaultClient.CloseIdleConnections()
}

// writes makes each kind of write on one node and reads on both.
type writes struct {
	*installtest.Cluster
	writer, round int
}

// write makes a call and checks that all of its items succeed.
func (w *writes) write(method, path, body string) {
	w.T.Helper()
	urls, _ := w.Must(w.writer, method, path, body)["urls"].([]any)
	for _, item := range urls {
		if problem := item.(map[string]any)["error"].(map[string]any); problem["code"] != 0.0 {
			w.T.Errorf("round %d, %s %s: %v", w.round, method, path, problem)
		}
	}
}

// expect compares the responses of both nodes with want. It first asks the node that did not write.
func (w *writes) expect(want string, ask func(node int) string) {
	w.T.Helper()
	for _, node := range []int{w.writer + 1, w.writer} {
		if got := ask(node); got != want {
			w.T.Errorf(
				"round %d, node %d after a write through node %d: %s, want %s", w.round, node%2, w.writer%2, got, want,
			)
		}
	}
}

// list returns a function that reads the hashes of a list.
func (w *writes) list(query string) func(node int) string {
	return func(node int) string {
		var hashes []string
		for _, url := range w.Must(node, "GET", "/urls?limit=1000&order_by=hash&"+query, "")["urls"].([]any) {
			hashes = append(hashes, url.(map[string]any)["hash"].(string))
		}
		return strings.Join(hashes, ",")
	}
}

// redirects checks whether both nodes redirect visitors of a hash. The node that wrote must do so
// immediately, the other one as soon as it is notified.
func (w *writes) redirects(hash string, want bool) {
	w.T.Helper()
	redirected := func(node int) bool {
		redirected, err := e2etest.Visit(w.T.Context(), w.Nodes[node%2], hash, "visitor")
		if err != nil {
			w.T.Error(err)
		}
		return redirected
	}
	if redirected(w.writer) != want {
		w.T.Errorf("round %d: the node that wrote redirects %s: %v, want %v", w.round, hash, !want, want)
	}
	w.Eventually("the other node redirects likewise", func() bool { return redirected(w.writer+1) == want })
}

// of returns a function that reads a field of the first URL in a response.
func (w *writes) of(list, path, field string) func(node int) string {
	return func(node int) string {
		return fmt.Sprint(w.Must(node, "GET", path, "")[list].([]any)[0].(map[string]any)[field])
	}
}

func (w *writes) links() {
	w.write("POST", "/urls", `{"urls":[{"long_url":"https://example.com/first","custom_hash":"a","tags":["t"]}]}`)
	for _, query := range []string{"", "search=first", "tags=t", "hashes=a", "order_by=clicks"} {
		w.expect("a", w.list(query))
	}
	w.redirects("a", true)
	w.expect("map[count:1 limit:0]", func(node int) string {
		return fmt.Sprint(
			w.Must(node, "GET", "/account", "")["account"].(map[string]any)["counters"].(map[string]any)["urls"],
		)
	})
	w.write("PATCH", "/urls/a", `{"urls":[{"custom_hash":"b","tags":["-t"],"archived":true}]}`)
	w.expect("b", w.list("tags=archived"))
	w.expect("", w.list("tags=t"))
	w.redirects("a", false)
	w.redirects("b", true)
	w.write("PATCH", "/urls", `{"urls":[{"hash":"b","note":"by item"}]}`)
	w.expect("by item", w.of("urls", "/urls/b", "note"))
	w.write("POST", "/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/first"}]}`)
	w.expect("b", w.list(""))
	w.write("DELETE", "/urls/b", "")
	w.expect("", w.list(""))
	w.redirects("b", false)
}

func (w *writes) groups() {
	w.write(
		"POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"a"},{"long_url":"https://example.com/","custom_hash":"b"}]}`,
	)
	w.write("PATCH", "/urls?hashes=a,b", `{"urls":[{"note":"by hash","tags":["+t"]}]}`)
	w.expect("a,b", w.list("search=by%20hash"))
	w.write("PATCH", "/urls?tags=t", `{"urls":[{"note":"by tag"}]}`)
	w.expect("a,b", w.list("search=by%20tag"))
	w.write("DELETE", "/urls?hashes=a", "")
	w.expect("b", w.list(""))
	w.write("DELETE", "/urls?tags=t", "")
	w.expect("", w.list(""))
	w.redirects("b", false)
}

func (w *writes) tags() {
	labels := func(node int) string {
		var labels []string
		for _, tag := range w.Must(node, "GET", "/tags", "")["tags"].([]any) {
			labels = append(labels, tag.(map[string]any)["label"].(string))
		}
		return strings.Join(labels, ",")
	}
	w.expect("t", labels)
	w.write("POST", "/tags", `{"label":"new"}`)
	w.expect("t,new", labels)
	w.write("PATCH", "/tags/new", `{"label":"renamed"}`)
	w.expect("t,renamed", labels)
	w.write("DELETE", "/tags/renamed", "")
	w.write("DELETE", "/tags/t", "")
	w.expect("", labels)
}

func (w *writes) stats() {
	w.write("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"a","tags":["t"]}]}`)
	for _, reset := range []string{"/stats/a", "/stats?hashes=a", "/stats?tags=t"} {
		if redirected, err := e2etest.Visit(w.T.Context(), w.Nodes[w.writer%2], "a", "visitor"); err != nil || !redirected {
			w.T.Errorf("round %d: a visitor is not redirected: %v", w.round, err)
		}
		// The other node sees clicks only when they are counted.
		if got := w.of("stats", "/stats/a", "total_clicks")(w.writer); got != "1" {
			w.T.Errorf("round %d: %s clicks, want 1", w.round, got)
		}
		w.write("DELETE", reset, "")
		w.expect("0", w.of("stats", "/stats/a", "total_clicks"))
		w.expect("0", w.of("urls", "/urls/a", "total_clicks"))
	}
	w.write("DELETE", "/urls?hashes=a", "")
	w.write("DELETE", "/tags/t", "")
}
