package e2e

import (
	"bufio"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"linkledger/events/eventstore/eventstoretest"
)

var (
	outageRounds = flag.Int(
		"outage-rounds", 2,
		"how often TestDrain cuts the event store off; the last time the service is killed besides; make outage does 5",
	)
	outageLength = flag.Duration("outage-length", time.Second, "for how long; make outage: 20s")
)

// TestDrain disconnects an event store that is 5 ms away while 8 visitors follow links, and later
// kills the service while it drains its spool. Visitors are redirected throughout, and every
// confirmed click is counted exactly once.
func TestDrain(t *testing.T) {
	t.Parallel()
	const links = 10
	i := install(t)
	i.service.kill()
	i.network = eventstoretest.Between(t, i.storeAddress)
	i.network.Delay(5 * time.Millisecond)
	i.startService()
	for n := range links {
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"link%d"}]}`, n, n)
		if _, err := call(t.Context(), i.base, i.key, "POST", "/urls", body); err != nil {
			t.Fatal(err)
		}
	}
	var answered, cutOff int64
	for round := range *outageRounds {
		c := i.visit(links)
		i.awaitRedirects(c)
		i.network.Cut()
		<-time.After(*outageLength)
		i.awaitRedirects(c)
		waiting, drained := i.metric("linkledger_spool_clicks"), i.metric("linkledger_spool_drained_total")
		i.network.Mend()
		began := time.Now()
		i.eventually("the spool drains", func() bool { return i.metric("linkledger_spool_drained_total") > drained })
		noticed := time.Since(began)
		if killed := round == *outageRounds-1; killed {
			i.service.kill()
			i.startService()
		} else if c.cutOff.Load() > 0 {
			t.Errorf("%d visitors got no response while the service ran", c.cutOff.Load())
		}
		i.eventually("the spool is empty", func() bool { return i.metric("linkledger_spool_clicks") == 0 })
		took := time.Since(began)
		t.Logf("outage of %s: %.0f clicks waited; the first were in the log after %s, all and those that came "+
			"meanwhile after %s",
			*outageLength, waiting, noticed.Round(time.Millisecond), took.Round(time.Millisecond))
		i.awaitRedirects(c)
		c.stop()
		c.visitors.Wait()
		if c.refused.Load() > 0 {
			t.Errorf("%d visitors were refused", c.refused.Load())
		}
		answered, cutOff = answered+c.answered.Load(), cutOff+c.cutOff.Load()
		i.eventually("every answered click is counted", func() bool { return i.clicks() >= answered })
		if counted := i.clicks(); counted > answered+cutOff {
			t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
		}
	}
}

// metric returns the value of a metric, by its name and labels, or -1 if the service does not respond.
func (i *installation) metric(name string) float64 {
	i.t.Helper()
	response, err := http.Get(i.admin + "/metrics")
	if err != nil {
		return -1
	}
	defer func() { _ = response.Body.Close() }() // the body was read
	if response.StatusCode != http.StatusOK {    // the service is starting
		return -1
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				i.t.Fatal(err)
			}
			return number
		}
	}
	if lines.Err() == nil {
		i.t.Fatalf("no metric %s", name)
	}
	return -1
}
