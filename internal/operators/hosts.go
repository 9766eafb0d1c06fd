package operators

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Hosts are names by which operators reach the internal address, such as that of a proxy, besides
// localhost and IP addresses.
//
// A page of others that gives its own name an address of this machine (DNS rebinding) has the
// browser send that name. No such page can make it send localhost or an address.
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
