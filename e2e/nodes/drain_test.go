package nodes_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
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
	i := installtest.Install(t)
	i.Service.Kill()
	i.Network = eventstoretest.Between(t, i.StoreAddress)
	i.Network.Delay(5 * time.Millisecond)
	i.StartService()
	for n := range links {
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"link%d"}]}`, n, n)
		if _, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls", body); err != nil {
			t.Fatal(err)
		}
	}
	var answered, cutOff int64
	for round := range *outageRounds {
		c := i.Visit(links)
		i.AwaitRedirects(c)
		i.Network.Cut()
		<-time.After(*outageLength)
		i.AwaitRedirects(c)
		waiting, drained := i.Metric("linkledger_spool_clicks"), i.Metric("linkledger_spool_drained_total")
		i.Network.Mend()
		began := time.Now()
		i.Eventually("the spool drains", func() bool { return i.Metric("linkledger_spool_drained_total") > drained })
		noticed := time.Since(began)
		if killed := round == *outageRounds-1; killed {
			i.Service.Kill()
			i.StartService()
		} else if c.CutOff.Load() > 0 {
			t.Errorf("%d visitors got no response while the service ran", c.CutOff.Load())
		}
		i.Eventually("the spool is empty", func() bool { return i.Metric("linkledger_spool_clicks") == 0 })
		took := time.Since(began)
		t.Logf("outage of %s: %.0f clicks waited; the first were in the log after %s, all and those that came "+
			"meanwhile after %s",
			*outageLength, waiting, noticed.Round(time.Millisecond), took.Round(time.Millisecond))
		i.AwaitRedirects(c)
		c.Stop()
		c.Visitors.Wait()
		if c.Refused.Load() > 0 {
			t.Errorf("%d visitors were refused", c.Refused.Load())
		}
		answered, cutOff = answered+c.Answered.Load(), cutOff+c.CutOff.Load()
		i.Eventually("every answered click is counted", func() bool { return i.Clicks() >= answered })
		if counted := i.Clicks(); counted > answered+cutOff {
			t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
		}
	}
}
