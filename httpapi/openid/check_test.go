package openid_test

import (
	"strings"
	"testing"

	"linkledger/httpapi/openid"
)

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	for name, issuer := range map[string]string{
		"host": "https://issuer.example", "path": "https://issuer.example/realms/a", "slash": "https://issuer.example/",
		"port": "https://issuer.example:8443", "localhost": "http://localhost:8080", "IPv4": "http://127.0.0.1:8080/a",
		"IPv6": "http://[::1]:8080",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := openid.CheckIssuer(issuer); err != nil {
				t.Errorf("%s: %v", issuer, err)
			}
		})
	}
	for name, issuer := range map[string]string{
		"empty": "", "host alone": "issuer.example", "HTTP": "http://issuer.example", "private": "http://192.168.0.1",
		"like localhost": "http://localhost.evil.example", "like IPv4": "http://127.0.0.1.evil.example",
		"no host": "https://", "port alone": "https://:443", "opaque": "https:issuer.example", "file": "file:///a",
		"query": "https://issuer.example?a=b", "empty query": "https://issuer.example?",
		"fragment": "https://issuer.example#a", "user": "https://a:hunter2@issuer.example",
		"malformed": "https://a:hunter2@issuer.example:port", "control": "https://issuer.example\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := openid.CheckIssuer(issuer)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: error %v; want one without the password", issuer, err)
			}
		})
	}
}
