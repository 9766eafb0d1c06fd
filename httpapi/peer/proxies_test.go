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
		{trusting, "10.0.0.1:80", []string{strings.Repeat("10.0.0.9,", 10_000)}, "10.0.0.9"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7" + strings.Repeat(",10.0.0.9", 19)}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7" + strings.Repeat(",10.0.0.9", 20)}, "10.0.0.9"},
		{trusting, "10.0.0.1:80", []string{"[2001:DB8::1]"}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{"203.0.113.9, [2001:db8::1], [fd00::2]"}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{"[::ffff:192.0.2.7]"}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"[fe80::1%eth0]"}, "fe80::1"},
		{trusting, "10.0.0.1:80", []string{`"[2001:db8::1]:4711"`}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{`"192.0.2.7:4711"`}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{`for="[2001:db8::1]:_gazonk";proto=https`}, "2001:db8::1"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7,"}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7, ,\t, 10.0.0.2, "}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7", ""}, "192.0.2.7"},
		{trusting, "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{"[2001:db8::1"}, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{"[2001:db8::1]x"}, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{"192.0.2.7, _hidden"}, "10.0.0.1"},
		{trusting, "10.0.0.1:80", []string{`203.0.113.9, "x, 192.0.2.7`}, "192.0.2.7"}, // a quote of the client
	} {
		r := &http.Request{RemoteAddr: test.remote, Header: http.Header{"X-Forwarded-For": test.forwarded}}
		if got := test.trusted.ClientAddress(r); got != test.want {
			t.Errorf("%s with %.60q is %s; want %s", test.remote, test.forwarded, got, test.want)
		}
	}
}

func TestForwarded(t *testing.T) {
	t.Parallel()
	trusting := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	for forwarded, want := range map[string]string{
		"for=192.0.2.60;proto=http;by=203.0.113.43":                       "192.0.2.60",
		`For="[2001:db8:cafe::17]:4711"`:                                  "2001:db8:cafe::17",
		`for="[2001:db8:cafe::17]"`:                                       "2001:db8:cafe::17",
		`proto=https; for = "192.0.2.43:47011" ;host="a;b,c"`:             "192.0.2.43",
		"for=203.0.113.9, for=192.0.2.60, for=10.0.0.2":                   "192.0.2.60",
		`for=203.0.113.9;x=", for=192.0.2.60`:                             "192.0.2.60", // a quote of the client
		"for=192.0.2.60, by=10.0.0.7":                                     "10.0.0.1",
		"for=192.0.2.60, for=unknown":                                     "10.0.0.1",
		`host="a;for=203.0.113.9";for=192.0.2.60`:                         "192.0.2.60",
		`for=203.0.113.9;x=y, for=192.0.2.60;host="a\", for=203.0.113.9"`: "192.0.2.60",
		`for=203.0.113.9;x=y, for=192.0.2.60;host="a\\"`:                  "192.0.2.60",
		`for=203.0.113.9;x=y, for=192.0.2.60"`:                            "10.0.0.1",
		"for=_hidden":                                                     "10.0.0.1",
		"192.0.2.60":                                                      "192.0.2.60",
		"for=192.0.2.60,":                                                 "192.0.2.60",
		"":                                                                "10.0.0.1",
		"for=":                                                            "10.0.0.1",
	} {
		r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{"Forwarded": {forwarded}}}
		if got := trusting.ClientAddress(r); got != want {
			t.Errorf("%s is %s; want %s", forwarded, got, want)
		}
		r.Header["X-Forwarded-For"] = []string{"192.0.2.7"}
		if got := trusting.ClientAddress(r); got != "192.0.2.7" {
			t.Errorf("%s beside X-Forwarded-For is %s", forwarded, got)
		}
		if r.RemoteAddr = "192.0.2.1:80"; trusting.ClientAddress(r) != "192.0.2.1" {
			t.Errorf("%s of a client is believed", forwarded)
		}
	}
}

// FuzzForwardings checks that what a client sends changes nothing about what a proxy adds.
func FuzzForwardings(f *testing.F) {
	trusting := Proxies{netip.MustParsePrefix("10.0.0.0/8")}
	f.Add(`for="`)
	f.Add(`",`)
	f.Fuzz(func(t *testing.T, sent string) {
		for name, added := range map[string]string{
			"X-Forwarded-For": "[2001:db8::1]:80", "Forwarded": `for="[2001:db8::1]:80"`,
		} {
			r := &http.Request{RemoteAddr: "10.0.0.1:80", Header: http.Header{name: {sent + ", " + added}}}
			if got := trusting.ClientAddress(r); got != "2001:db8::1" {
				t.Errorf("%s after %q is %s", added, sent, got)
			}
			r.Header[name] = []string{sent}
			trusting.ClientAddress(r)
		}
	})
}

func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::1": "2001:db8:1:2::/64",
		"2001:db8:1:3::1": "2001:db8:1:3::/64", "@": "@", "": "",
	} {
		if got := NetworkOf(address); got != want {
			t.Errorf("%s is of %s; want %s", address, got, want)
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
