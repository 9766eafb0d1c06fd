package shortlink_test

import (
	"cmp"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/shortlink"
)

func TestCheckOfBase(t *testing.T) {
	t.Parallel()
	for base, valid := range map[shortlink.Base]bool{
		"":                                       true, // the host of each request
		"https://links.example":                  true,
		"http://links.example":                   true,
		"http://localhost:8080":                  true,
		"https://192.0.2.1":                      true,
		"https://[2001:db8::1]:8443":             true,
		"links.example":                          false,
		"ftp://links.example":                    false,
		"HTTPS://links.example":                  false,
		"https://":                               false,
		"https://links.example/":                 false,
		"https://links.example/go":               false,
		"https://links.example?":                 false,
		"https://links.example#x":                false,
		"https://me@links.example":               false,
		"https://links example":                  false,
		"https://links.example:port":             false,
		"https://links.example:123456":           false,
		"https://b\u00fccher.example":            false,
		"https://%zz":                            false,
		" https://links.example":                 false,
		"https://" + shortlink.Base(tooLong):     false,
		"https://" + shortlink.Base(tooLong[1:]): true,
	} {
		t.Run(cmp.Or(string(base), "none"), func(t *testing.T) {
			t.Parallel()
			if err := base.Check(); (err == nil) != valid {
				t.Errorf("%q is checked with %v; valid: %t", base, err, valid)
			}
		})
	}
}

// tooLong is a host that has one byte too much.
var tooLong = strings.Repeat("a", 254)

func TestBaseOfRequest(t *testing.T) {
	t.Parallel()
	plain := &http.Request{Host: "a.example:80"}
	encrypted := &http.Request{Host: "b.example", TLS: &tls.ConnectionState{}}
	for name, tc := range map[string]struct {
		base    shortlink.Base
		request *http.Request
		want    string
	}{
		"plain request":                 {"", plain, "http://a.example:80"},
		"encrypted request":             {"", encrypted, "https://b.example"},
		"configured, plain request":     {"https://links.example", plain, "https://links.example"},
		"configured, encrypted request": {"http://links.example", encrypted, "http://links.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.base.Of(tc.request); got != tc.want {
				t.Errorf("the base is %q, want %q", got, tc.want)
			}
		})
	}
}
