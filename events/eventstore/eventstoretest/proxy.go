package eventstoretest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Proxy is a network between a client and a server. It can delay, stall or cut connections.
type Proxy struct {
	t     testing.TB
	proxy *toxiproxy.Proxy
}

// Between starts a proxy in front of a server until the test ends. At first it forwards everything
// without delay.
func Between(t testing.TB, server string) *Proxy {
	t.Helper()
	listener := Listen(t)
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	api := toxiproxy.NewServer(
		toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop(),
	)
	p := &Proxy{t: t, proxy: toxiproxy.NewProxy(api, "network", address, server)}
	p.Mend()
	t.Cleanup(p.Cut)
	return p
}

// Address returns the address of the proxy, host:port.
func (p *Proxy) Address() string { return p.proxy.Listen }

// URL returns the connection string of an event store behind the proxy.
func (p *Proxy) URL() string { return "esdb://" + p.Address() + "?tls=false" }

// Cut ends all connections and refuses new ones until Mend.
func (p *Proxy) Cut() { p.proxy.Stop() }

// Mend accepts connections again after Cut.
func (p *Proxy) Mend() {
	p.t.Helper()
	if err := p.proxy.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// Delay delays the data by each in both directions, so a call takes longer by twice that time.
func (p *Proxy) Delay(each time.Duration) { p.add("latency", "latency", each.Milliseconds()) }

// Throttle limits each direction to rate kB per second.
func (p *Proxy) Throttle(rate int64) { p.add("bandwidth", "rate", rate) }

// Stall drops all data and keeps the connections open.
func (p *Proxy) Stall() { p.add("timeout", "timeout", 0) }

// Clear ends Delay, Throttle and Stall. Data that Stall dropped stays lost, so older connections
// may be unusable.
func (p *Proxy) Clear() { p.proxy.Toxics.ResetToxics(context.WithoutCancel(p.t.Context())) }

func (p *Proxy) add(kind, attribute string, value int64) {
	p.t.Helper()
	for _, direction := range []string{"upstream", "downstream"} {
		toxic := fmt.Sprintf(
			`{"type":%q,"stream":%q,"attributes":{%q:%d}}`, kind, direction, attribute, value,
		)
		if _, err := p.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			p.t.Fatal(err)
		}
	}
}
