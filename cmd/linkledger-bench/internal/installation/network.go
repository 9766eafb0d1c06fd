package installation

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Network lies between a service and its event store, and delays what is sent in each direction.
type Network struct {
	*toxiproxy.Proxy

	URL string // connection string of the event store behind it
}

// StartNetwork starts a network in front of the event store of a connection string.
func StartNetwork(store string, delay time.Duration) (*Network, error) {
	behind, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	server := toxiproxy.NewServer(
		toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop(),
	)
	n := &Network{Proxy: toxiproxy.NewProxy(server, "network", "127.0.0.1:0", behind.Host)}
	if err := n.Start(); err != nil {
		return nil, err
	}
	for _, direction := range []string{"upstream", "downstream"} {
		toxic := fmt.Sprintf(
			`{"type":"latency","stream":%q,"attributes":{"latency":%d}}`, direction,
			delay.Milliseconds(),
		)
		if _, err := n.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			n.Stop()
			return nil, err
		}
	}
	behind.Host = n.Listen
	n.URL = behind.String()
	return n, nil
}
