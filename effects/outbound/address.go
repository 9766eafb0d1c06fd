package outbound

// This file decides which addresses may be called.

import (
	"encoding/binary"
	"net/netip"
)

// forbidden are the networks that are not part of the public Internet, by the registries of special
// purpose addresses of IANA (RFC 6890), multicast, and an address by which machines of a provider
// reach its own services. IPv6 addresses outside of 2000::/3 are
// forbidden too.
var forbidden = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"168.63.129.16/32", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
)

var (
	publicIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// isPublic reports whether an address is one of the public Internet. An address of IPv6 that stands
// for one of IPv4 is as public as that one.
func isPublic(address netip.Addr) bool {
	address = embedded(address.Unmap().WithZone(""))
	if !address.IsValid() || address.Is6() && !publicIPv6.Contains(address) {
		return false
	}
	for _, network := range forbidden {
		if network.Contains(address) {
			return false
		}
	}
	return true
}

// embedded returns the address of IPv4 to which a translator (RFC 6052) or a 6to4 relay (RFC 3056)
// sends the packets for an address of IPv6. It returns all other addresses unchanged.
func embedded(address netip.Addr) netip.Addr {
	bytes := address.As16()
	switch {
	case nat64.Contains(address):
		return netip.AddrFrom4([4]byte(bytes[12:]))
	case sixToFour.Contains(address):
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(
			nil, binary.BigEndian.Uint32(bytes[2:6]))))
	}
	return address
}
