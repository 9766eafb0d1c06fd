// Package peer says who is at the other end of a connection: the address behind trusted proxies,
// and the pseudonym that is stored in place of an address.
package peer

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwardings is how many addresses of X-Forwarded-For are looked at.
const maxForwardings = 20

// Proxies are the networks of the proxies whose X-Forwarded-For is believed.
type Proxies []netip.Prefix

// ClientAddress returns the address that a request comes from. What X-Forwarded-For says is
// believed as far as trusted proxies say it: from the connection backwards, up to the first address
// that is not one of them.
func (p Proxies) ClientAddress(r *http.Request) string {
	client := address(r.RemoteAddr)
	if !p.trusts(client) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && i >= len(hops)-maxForwardings; i-- {
		hop := address(strings.TrimSpace(hops[i]))
		if _, err := netip.ParseAddr(hop); err != nil {
			return client
		}
		client = hop
		if !p.trusts(client) {
			return client
		}
	}
	return client
}

// trusts tells whether an address is that of a trusted proxy.
func (p Proxies) trusts(client string) bool {
	if len(p) == 0 {
		return false
	}
	parsed, err := netip.ParseAddr(client)
	return err == nil && slices.ContainsFunc(
		p, func(network netip.Prefix) bool { return network.Contains(parsed) },
	)
}

// address returns the address of whoever is connected, in one spelling.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	parsed, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return parsed.Unmap().WithZone("").String()
}
