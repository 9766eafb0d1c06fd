package nodes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/httpapi/contract"
)

// counter is a receiver of webhooks that verifies and counts what it gets. It refuses some payloads once, and takes
// others without an answer.
type counter struct {
	t        *testing.T
	secret   string
	mu       sync.Mutex
	attempts map[string]int    // by id of the message
	bodies   map[string]string // by id of the message
	last     map[string]uint64 // position of the last event of a link, by its hash
	created  map[string]bool   // hashes
	clicks   int
	wrong    []string
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := r.Header.Get("webhook-id")
	c.mu.Lock()
	defer c.mu.Unlock()
	verifier, err := standard.NewWebhook(c.secret)
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil {
		c.wrong = append(c.wrong, err.Error())
	}
	c.attempts[id]++
	if c.attempts[id] == 1 && chosen(id, '7') {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if former, repeated := c.bodies[id]; repeated {
		if former != string(body) {
			c.wrong = append(c.wrong, "a repeat differs: "+former+" "+string(body))
		}
		return
	}
	c.bodies[id] = string(body)
	var e contract.Event
	if err := json.Unmarshal(body, &e); err != nil {
		c.wrong = append(c.wrong, err.Error())
	}
	for _, click := range e.Data.Clicks {
		if !click.Robot {
			c.clicks++
		}
	}
	if u := e.Data.URL; u != nil {
		if e.Data.Position < c.last[u.Hash] {
			c.wrong = append(c.wrong, "out of order: "+string(body))
		}
		c.last[u.Hash] = e.Data.Position
		if e.Type == "link.created" {
			c.created[u.Hash] = true
		}
	}
	if c.attempts[id] == 1 && chosen(id, 'e') { // taken, and the answer is lost
		panic(http.ErrAbortHandler)
	}
}

// chosen reports whether an id is one of a 64th of all ids.
func chosen(id string, digit byte) bool {
	return len(id) > 1 && id[len(id)-1] == digit && id[len(id)-2] < '4'
}

// TestWebhooksUnderKills kills and suspends two nodes under load, and rebuilds projections meanwhile. A webhook gets
// every event of the log, in order for each link. A rebuild and a rollback deliver nothing again.
func TestWebhooksUnderKills(t *testing.T) {
	t.Parallel()
	flags := []string{"--webhook-allow=127.0.0.0/8", "--master-key=" + strings.Repeat("AAAA", 10) + "AAA="}
	p := newPair(t, installtest.Install(t, flags...))
	p.add(flags...)
	c := &counter{
		t: t, attempts: map[string]int{}, bodies: map[string]string{}, last: map[string]uint64{}, created: map[string]bool{},
	}
	receiver := httptest.NewServer(c)
	t.Cleanup(receiver.Close)
	added, err := e2etest.Call(t.Context(), p.Base, p.Key, http.MethodPost, "/webhooks", `{"url":"`+receiver.URL+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.secret = added["webhooks"].([]any)[0].(map[string]any)["secret"].(string)
	c.mu.Unlock()
	clicks := func() int64 {
		var n int64
		if err := p.db.NewRaw("SELECT coalesce(sum(total_clicks), 0)::bigint FROM linkledger.link_stats").
			Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	stop := p.keepBusy()
	for round := range *e2etest.CrashRounds {
		victim := round % 2
		p.awaitProgress()
		if round%3 == 2 {
			p.signal(victim, syscall.SIGSTOP)
			<-time.After(8 * time.Second) // longer than a lease
			p.signal(victim, syscall.SIGCONT)
			continue
		}
		p.nodes[victim].Kill()
		p.takeOver(victim)
		p.start(victim)
	}
	p.OperatorRuns("projections", "rebuild", "links")
	stop()
	var state string
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(state)
		}
	})
	p.Eventually("everything is delivered", func() bool {
		var waiting int64
		err := p.db.NewRaw("SELECT count(*) FROM linkledger_durable.outbox WHERE state = 'waiting'").Scan(t.Context(), &waiting)
		c.mu.Lock()
		defer c.mu.Unlock()
		state = fmt.Sprintf("%d messages wait; of %d links, the webhook knows %d; of %d clicks, %d",
			waiting, len(p.Created), len(c.created), clicks(), c.clicks)
		return err == nil && waiting == 0 && len(c.created) >= len(p.Created) && int64(c.clicks) >= clicks()
	})
	c.mu.Lock()
	delivered := len(c.bodies)
	for hash := range p.Created {
		if !c.created[hash] {
			t.Errorf("the webhook did not get the creation of %s", hash)
		}
	}
	if n := clicks(); int64(c.clicks) != n {
		t.Errorf("the webhook got %d clicks of %d", c.clicks, n)
	}
	c.mu.Unlock()
	p.OperatorRuns("projections", "rollback", "links")
	p.OperatorRuns("projections", "rebuild", "dimensions")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bodies) != delivered {
		t.Errorf("a rebuild and a rollback have delivered %d messages", len(c.bodies)-delivered)
	}
	for _, wrong := range c.wrong[:min(len(c.wrong), 10)] {
		t.Error(wrong)
	}
	repeats := 0
	for _, n := range c.attempts {
		repeats += n - 1
	}
	t.Logf("%d links and %d clicks in %d messages, %d repeats", len(c.created), c.clicks, delivered, repeats)
}
