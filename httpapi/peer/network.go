package peer

import "net/netip"

// networkBits is the length of the IPv6 prefix whose addresses are taken to have one owner.
const networkBits = 64

// NetworkOf returns the range of addresses that is taken to have one owner: an IPv4 address, or the
// /64 prefix of an IPv6 address, because a device takes another address of its network each day. If
// text is not an address, it returns text unchanged.
func NetworkOf(text string) string {
	parsed, err := netip.ParseAddr(text)
	if err != nil || parsed.Is4() {
		return text
	}
	return netip.PrefixFrom(parsed, networkBits).Masked().String()
}
