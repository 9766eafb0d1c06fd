package destination

import (
	"strings"
	"testing"

	"linkledger/commands/domain"
)

func TestCheckLongURL(t *testing.T) {
	t.Parallel()
	rules := Rules{ShortHosts: []string{"sho.rt", "127.0.0.1:8080"}}
	tests := map[string]domain.Kind{
		"https://example.com":                     0,
		"HTTP://example.com/a%20b?x=1&y=%C3%A9#z": 0,
		"http://[2001:db8::1]:8080/":              0,
		"https://bücher.example/ä":                0,
		"https://x/" + strings.Repeat("é", 2038):  0,
		"https://x/" + strings.Repeat("é", 2039):  domain.URLNotAllowed,
		"x":                               domain.URLNotAllowed,
		"":                                domain.URLNotAllowed,
		"example.com/a":                   domain.InvalidURL,
		"//example.com":                   domain.InvalidURL,
		"javascript:alert(1)":             domain.InvalidURL,
		"data:text/html,x":                domain.InvalidURL,
		"ftp://example.com":               domain.InvalidURL,
		"https://":                        domain.InvalidURL,
		"https:///path":                   domain.InvalidURL,
		"https://user:secret@example.com": domain.InvalidURL,
		"https://user@example.com":        domain.InvalidURL,
		"https://example.com/\r\nSet-Cookie: a=b": domain.InvalidURL,
		"https://example.com/a b":                 0,
		" https://example.com":                    domain.InvalidURL,
		"https://example.com/\x00":                domain.InvalidURL,
		"https://example.com/\xff":                domain.InvalidURL,
		"https://exa mple.com":                    domain.InvalidURL,
		"https://example.com:port":                domain.InvalidURL,
		"https://sho.rt/abc":                      domain.URLNotAllowed,
		"https://SHO.RT:443/abc":                  domain.URLNotAllowed,
		"https://sho.rt./abc":                     domain.URLNotAllowed,
		"https://notsho.rt/abc":                   0,
	}
	for long, want := range tests {
		if got := domain.KindOf(rules.Check(long, "")); got != want {
			t.Errorf("%.60q: got %d, want %d", long, got, want)
		}
	}
}
