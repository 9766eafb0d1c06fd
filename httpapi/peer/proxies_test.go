package peer

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusting := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, test := range []struct {
		trusted   Proxies
		remote    string
		forwarded []string
		want      string
	}{
		{nil, "10.0.0.1:80", []string{"192.0.2.7"}, "10.0.0.1"},
		{trusting, "192.0.2.1:80", []string{"192.0.2.7"}, "192.0.2.1"}, // any client can send the header
		{trusting, "10.0.0.1:80", nil, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7"}, "192.0.2.7"},
		{trusting, "[::ffff:10.0.0.1]:80", []string{"192.0.2.7:4711"}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"203.0.113.9, 192.0.2.7 , 10.2.3.4"}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"203.0.113.9", "192.0.2.7", "[fd00::7]:80"}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7, unknown"}, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{trusting, "10.0.0.1:80", []string{strings.Repeat("10.0.0.9,", 10_000)}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{"X-Forwarded-For": test.forwarded}}
		if got := test.trusted.ClientAddress(r); got != test.want {
			t.Errorf("%s with %.60q is %s; want %s", test.remote, test.forwarded, got, test.want)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:DB8::1]:80": "2001:db8::1",
		"[fe80::1%eth0]:80": "fe80::1",
		"192.0.2.1":         "192.0.2.1", "@": "@", "": "",
	} {
		if got := address(remote); got != want {
			t.Errorf("%s is %v; want %v", remote, got, want)
		}
	}
}
