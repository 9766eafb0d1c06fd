// Package peer identifies clients: the address behind trusted proxies, and the pseudonym that is
// stored in place of an address.
package peer

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwardings is the most addresses of X-Forwarded-For that are read.
const maxForwardings = 20

// Proxies are the networks of the proxies whose X-Forwarded-For is trusted.
type Proxies []netip.Prefix

// ClientAddress returns the address of the client of a request. It follows X-Forwarded-For from the
// connection backwards, up to the first address that is not a trusted proxy.
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

// trusts reports whether an address is that of a trusted proxy.
func (p Proxies) trusts(client string) bool {
	if len(p) == 0 {
		return false
	}
	parsed, err := netip.ParseAddr(client)
	return err == nil && slices.ContainsFunc(
		p, func(network netip.Prefix) bool { return network.Contains(parsed) },
	)
}

// address returns the IP address of a remote address in canonical form, or the host as it is if it
// is not an IP address.
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
