package outages_test

import (
	"fmt"
	"testing"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// TestOutages kills the event store under load, then stops PostgreSQL, then kills the service while
// the event store is away. Visitors must be redirected as long as there is a service, and every
// confirmed click must be counted exactly once.
func TestOutages(t *testing.T) {
	t.Parallel()
	const links = 10
	i := installtest.Install(t)
	i.Eventually("the account is known", func() bool { return i.Clicks() == 0 })
	for n := range links {
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"link%d"}]}`, n, n)
		if _, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls", body); err != nil {
			t.Fatal(err)
		}
	}
	var answered, cutOff int64
	outage := func(what string, allAnswered bool, happens func(*installtest.Crowd)) {
		t.Helper()
		c := i.Visit(links)
		i.AwaitRedirects(c)
		happens(c)
		i.AwaitRedirects(c)
		c.Stop()
		c.Visitors.Wait()
		t.Logf("%s: %d redirects, %d cut off, %d refused", what, c.Answered.Load(), c.CutOff.Load(), c.Refused.Load())
		answered, cutOff = answered+c.Answered.Load(), cutOff+c.CutOff.Load()
		if c.Refused.Load() > 0 {
			t.Errorf("%s: %d visitors were refused", what, c.Refused.Load())
		}
		if allAnswered && c.CutOff.Load() > 0 {
			t.Errorf("%s: %d visitors got no response while the service ran", what, c.CutOff.Load())
		}
	}
	for range (*e2etest.CrashRounds + 2) / 3 {
		outage("event store killed", true, func(c *installtest.Crowd) {
			i.Store.Kill()
			i.AwaitRedirects(c)
			i.StartStore()
		})
		outage("PostgreSQL stopped", true, func(c *installtest.Crowd) {
			i.StopDatabase()
			i.AwaitRedirects(c)
			i.StartDatabase()
		})
		outage("service killed while the event store is away", false, func(c *installtest.Crowd) {
			i.Store.Kill()
			i.AwaitRedirects(c)
			i.Service.Kill()
			i.StartStore()
			i.StartService()
		})
		i.Eventually("every answered click is counted", func() bool { return i.Clicks() >= answered })
		if counted := i.Clicks(); counted > answered+cutOff {
			t.Errorf("%d clicks are counted, %d were answered and %d cut off", counted, answered, cutOff)
		}
	}
}
