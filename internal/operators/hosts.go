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
	name := host
	if split, _, err := net.SplitHostPort(host); err == nil {
		name = split
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") {
		return true
	}
	return slices.ContainsFunc(h, func(known string) bool { return strings.EqualFold(known, name) })
}
