package operators

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Hosts are further names of the internal address, such as the name of a proxy. Operators can
// always use localhost and IP addresses.
//
// In a DNS rebinding attack, a foreign site points its own name at this machine, so the browser
// sends that name. It never sends localhost or an IP address for such a site.
type Hosts []string

// Knows reports whether the value of a Host header is one of the hosts.
func (h Hosts) Knows(host string) bool {
	name := nameOf(host)
	if ip, err := netip.ParseAddr(name); err == nil && ip.Zone() == "" {
		return true
	}
	return strings.EqualFold(name, "localhost") || h.Has(host)
}

// Has reports whether the value of a Host header is one of the names.
func (h Hosts) Has(host string) bool {
	name := nameOf(host)
	return slices.ContainsFunc(h, func(known string) bool { return strings.EqualFold(known, name) })
}

// nameOf returns a host without its port.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}
