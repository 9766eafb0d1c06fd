// Package peer identifies clients: by the address behind trusted proxies, and by the pseudonym that
// is stored instead of an address.
package peer

import (
	"iter"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxForwardings is the most elements of X-Forwarded-For or Forwarded that are read.
const maxForwardings = 20

// Proxies are the networks of the proxies whose X-Forwarded-For and Forwarded are trusted.
type Proxies []netip.Prefix

// ClientAddress returns the address of the client of a request. It follows X-Forwarded-For from the
// connection backwards, up to the first address that is not a trusted proxy. If the request lacks
// that header, ClientAddress follows Forwarded (RFC 7239). It never follows both, because a proxy
// writes one of them and passes on the other as the client has sent it.
func (p Proxies) ClientAddress(r *http.Request) string {
	client := address(r.RemoteAddr)
	if !p.trusts(client) {
		return client
	}
	lines, ok := r.Header["X-Forwarded-For"]
	if !ok {
		lines = r.Header["Forwarded"]
	}
	for element := range forwardings(lines) {
		hop, ok := node(element)
		if !ok {
			return client
		}
		if client = hop; !p.trusts(client) {
			return client
		}
	}
	return client
}

// forwardings returns the elements of the list in a header, the last one first. It leaves out empty
// elements. lines are the lines of the header. Proxies add elements at the end. Because forwardings
// reads from the end, a client cannot change how those elements are read.
func forwardings(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		left := maxForwardings
		for _, rest := range slices.Backward(lines) {
			for rest != "" && left > 0 {
				left--
				var element string
				rest, element = cutLast(rest)
				if element != "" && !yield(element) {
					return
				}
			}
		}
	}
}

// cutLast returns a list without its last element, and that element. Commas in quotes are parts of
// an element. If a closing quote has no opening quote, the rest of the list is dropped, and the
// element is a lone quote.
func cutLast(list string) (before, last string) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == '"' && !escaped(list, i):
			quoted = !quoted
		case list[i] == ',' && !quoted:
			return list[:i], strings.TrimSpace(list[i+1:])
		}
	}
	if quoted {
		return "", `"`
	}
	return "", strings.TrimSpace(list)
}

// cutFirst returns the first parameter of an element, and the other parameters. Semicolons in
// quotes are parts of a parameter.
func cutFirst(element string) (parameter, rest string) {
	quoted := false
	for i := range len(element) {
		switch {
		case element[i] == '"' && !escaped(element, i):
			quoted = !quoted
		case element[i] == ';' && !quoted:
			return element[:i], element[i+1:]
		}
	}
	return element, ""
}

// escaped reports whether an odd number of backslashes stands before text[at].
func escaped(text string, at int) bool {
	before := strings.TrimRight(text[:at], `\`)
	return (at-len(before))%2 == 1
}

// node returns the address of an element of X-Forwarded-For or Forwarded: 192.0.2.7, 2001:db8::7 or
// [2001:db8::7], each with or without a port and quotes, bare or as the parameter "for" of RFC
// 7239. It returns false for other elements, such as unknown.
func node(element string) (string, bool) {
	if strings.Contains(element, "=") {
		element = forParameter(element)
	}
	if inside, ok := strings.CutPrefix(element, `"`); ok {
		element = strings.TrimSpace(strings.TrimSuffix(inside, `"`))
	}
	host := element
	if inside, ok := strings.CutPrefix(element, "["); ok {
		var port string
		if host, port, ok = strings.Cut(inside, "]"); !ok || port != "" && port[0] != ':' {
			return "", false
		}
	} else if strings.Count(element, ":") == 1 {
		host, _, _ = strings.Cut(element, ":")
	}
	parsed, err := netip.ParseAddr(host)
	if err != nil {
		return "", false
	}
	return parsed.Unmap().WithZone("").String(), true
}

// forParameter returns the value of the parameter "for" in an element, or an empty string.
func forParameter(element string) string {
	for element != "" {
		var parameter string
		parameter, element = cutFirst(element)
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// trusts reports whether an address belongs to a trusted proxy.
func (p Proxies) trusts(client string) bool {
	if len(p) == 0 {
		return false
	}
	parsed, err := netip.ParseAddr(client)
	return err == nil && slices.ContainsFunc(
		p, func(network netip.Prefix) bool { return network.Contains(parsed) },
	)
}

// address returns the IP address of a remote address in canonical form, or the unchanged host if it
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
