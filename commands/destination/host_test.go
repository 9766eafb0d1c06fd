package destination

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/commands/domain"
)

// TestReadSite compares readSite with the URL Standard and its tests (urltestdata.json,
// toascii.json).
func TestReadSite(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]site{
		"http://example.com":                          {"example.com", ""},
		"HTTPS://EXAMPLE.com.:443/x":                  {"example.com", ""},
		"http://example.com:00080":                    {"example.com", ""},
		"http://example.com:":                         {"example.com", ""},
		"http://example.com:0":                        {"example.com", "0"},
		"http://example.com:08080?x":                  {"example.com", "8080"},
		"http://example.com:65535#x":                  {"example.com", "65535"},
		"http://example.com\\@evil.example/":          {"example.com", ""},
		"http://example.com/@evil.example":            {"example.com", ""},
		"http://example.com?@evil.example":            {"example.com", ""},
		"http://example.com#@evil.example":            {"example.com", ""},
		"http://ex%61mple%2Ecom":                      {"example.com", ""},
		"http://under_score.example":                  {"under_score.example", ""},
		"http://-a--b-.example":                       {"-a--b-.example", ""},
		"http://r3---sn-apo3qvuoxuxbt.example":        {"r3---sn-apo3qvuoxuxbt.example", ""},
		"http://b\u00fccher.example":                  {"xn--bcher-kva.example", ""},
		"http://bu\u0308cher.example":                 {"xn--bcher-kva.example", ""},
		"http://b%C3%BCcher.example":                  {"xn--bcher-kva.example", ""},
		"http://xn--BCHER-kva.example":                {"xn--bcher-kva.example", ""},
		"http://fa\u00df.example":                     {"xn--fa-hia.example", ""},
		"http://\u65e5\u672c\u8a9e\u3002\uff2a\uff30": {"xn--wgv71a119e.jp", ""},
		"http://\u2603.example":                       {"xn--n3h.example", ""},
		"http://\u0645\u062b\u0627\u0644.example":     {"xn--mgbh0fb.example", ""},
		"http://Go\u200bo\u2060go\ufeff.com":          {"googo.com", ""},
		"http://127.0.0.1":                            {"127.0.0.1", ""},
		"http://127.0.0.1.":                           {"127.0.0.1", ""},
		"http://127.1":                                {"127.0.0.1", ""},
		"http://127.0x.0.0X1":                         {"127.0.0.1", ""},
		"http://2130706433":                           {"127.0.0.1", ""},
		"http://017700000001":                         {"127.0.0.1", ""},
		"http://0x7f000001":                           {"127.0.0.1", ""},
		"http://0x000000000000000000007f.1":           {"127.0.0.1", ""},
		"http://4294967295":                           {"255.255.255.255", ""},
		"http://0":                                    {"0.0.0.0", ""},
		"http://0x":                                   {"0.0.0.0", ""},
		"http://1.2.3":                                {"1.2.0.3", ""},
		"http://1.65536.example":                      {"1.65536.example", ""},
		"http://1e2":                                  {"1e2", ""},
		"http://127.0.0.1e":                           {"127.0.0.1e", ""},
		"http://[::1]":                                {"::1", ""},
		"http://[2001:DB8:0:0::1]:8080":               {"2001:db8::1", "8080"},
		"http://[1:2:3:4:5:6:7::]":                    {"1:2:3:4:5:6:7:0", ""},
		"http://[::ffff:127.0.0.1]":                   {"127.0.0.1", ""},
		"http://[::FFFF:7f00:1]":                      {"127.0.0.1", ""},
		"http://[64:ff9b::127.0.0.1]":                 {"127.0.0.1", ""},
		"http://[::127.0.0.1]":                        {"::7f00:1", ""},
	} {
		got, err := readSite(address)
		if err != nil || got != want {
			t.Errorf("%q leads to %v, %v; want %v", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", "http", "http:", "http:example.com", "http:/example.com", "http:///example.com", "http://\\example.com",
		"http:\\\\example.com",
		"ftp://example.com", "httpſ://example.com", "http://", "http://.", "http://..", "http://:80", "http://?",
		"http://#",
		"http://user@example.com", "http://example.com@", "http://@example.com", "http://a:b@example.com",
		"http://example.com:65536", "http://example.com:+80", "http://example.com:8 0", "http://example.com:80:80",
		"http://example.com:\u0661",
		"http://a b", "http://a\tb", "http://a%00b", "http://a%20b", "http://a%2Fb", "http://a%", "http://a%zz",
		"http://a%25b", "http://a%FFb", "http://a\xffb",
		"http://a<b", "http://a>b", "http://a|b", "http://a^b", "http://a[b", "http://a]b", "http://a\uff0fb",
		"http://a\uff20b", "http://\u2100.example",
		"http://a..example", "http://.example.com", "http://example.com..", "http://a\u3002\u3002b", "http://\u00ad",
		"http://xn--", "http://xn--.example", "http://xn--evil-.example", "http://xn--a.example",
		"http://xn--\u00fc.example", "http://xn--zzzzzz9999.example",
		"http://xn--bcher-KVA\u0301.example", "http://a\u200cb.example", "http://\u200d.example",
		"http://\u0301a.example",
		"http://a\u05d0b.example", "http://stra\u1e9ee.example", "http://a\ufffdb", "http://\u2135b.example",
		"http://" + strings.Repeat("a", 64) + ".example", "http://" + strings.Repeat("\u00fc", 64) + ".example",
		"http://" + strings.Repeat("\u00fc", 63) + ".example",
		"http://" + strings.Repeat("a.", 127) + "a", "http://" + strings.Repeat("\u00fc.", 127) + "a",
		"http://" + strings.Repeat("\u00fc.", 100) + "a",
		"http://256.1.1.1", "http://1.2.3.4.5", "http://1.2.3.08", "http://0x100000000", "http://4294967296",
		"http://99999999999999999999", "http://127.0.0.0x1g.1",
		"http://example.1", "http://example.0x", "http://1..1", "http://1.1.256.1", "http://1.16777216", "http://09",
		"http://[", "http://[]", "http://[::1", "http://::1", "http://[::1]x", "http://[::1]:x", "http://[1.2.3.4]",
		"http://[::1%25eth0]", "http://[::1%eth0]", "http://[::g]",
		"http://[1:2:3:4:5:6:7:8:9]", "http://[::1:2:3:4:5:6:7:8]", "http://[::ffff:1.2.3.04]",
		"http://[::ffff:256.1.1.1]", "http://[%3A%3A1]",
	} {
		if got, err := readSite(address); err == nil {
			t.Errorf("%q leads to %v", address, got)
		}
	}
}

// spellings returns URLs whose host browsers read as evil.example, a subdomain of it, 192.0.2.1,
// 2001:db8::bad or bücher.example.
func spellings() []string {
	var all []string
	for _, host := range []string{
		"evil.example", "EVIL.EXAMPLE", "eViL.eXaMpLe", "evil.example.", "www.evil.example", "a.b.c.evil.example",
		"_dmarc.evil.example",
		"xn--bcher-kva.evil.example", "1.evil.example", "0x7f.evil.example", "b\u00fccher.evil.example",
		// Letters of other scripts and styles: every letter, or one of them.
		"\uff45\uff56\uff49\uff4c.\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45", "\uff25\uff36\uff29\uff2c.example",
		"evi\uff4c.example",
		"\u24d4\u24e5\u24d8\u24db.\u24d4\u24e7\u24d0\u24dc\u24df\u24db\u24d4", "\u24ba\u24cb\u24be\u24c1.example",
		"evi\u24db.example",
		"\U0001f134\U0001f145\U0001f138\U0001f13b.example", "\U0001d41e\U0001d42f\U0001d422\U0001d425.example",
		"\U0001d552.evil.example",
		"\U0001d626\U0001d637\U0001d62a\U0001d62d.example", "\U0001d4ee\U0001d4ff\U0001d4f2\U0001d4f5.example",
		"\U0001d556\U0001d567\U0001d55a\U0001d55d.example",
		"\U0001d588.evil.example", "\U0001d5be\U0001d5cf\U0001d5c2\U0001d5c5.example",
		"\U0001d68e\U0001d69f\U0001d692\U0001d695.example",
		"e\u2174il.example", "e\u2164il.example", "ev\u2170l.example", "ev\u2110l.example", "ev\u2139l.example",
		"evi\u2113.example", "evi\u2112.example",
		"\u212fvil.example", "\u2130vil.example", "\u1d49vil.example", "\u2091vil.example", "e\u1d5bil.example",
		"ev\u2071l.example", "evi\u02e1.example",
		"ev\u1d62l.example", "evil.e\u02e3ample", "evil.ex\u1d43mple", "evil.exa\u1d50ple", "evil.exam\u1d56le",
		"evil.ex\u00aample", "evil.e\u2093ample",
		// Other characters for the dot.
		"evil\u3002example", "evil\uff0eexample", "evil\uff61example", "evil.example\u3002", "evil.example\uff0e",
		"evil.example\uff61", "www\u3002evil\uff0eexample\uff61",
		// Ignored characters.
		"ev\u00adil.example", "\u00adevil.example", "evil.example\u00ad", "evil\u00ad.\u00adexample",
		"evil.\u00adexample\u00ad.",
		"ev\u200bil.example", "\u200bevil.example", "evil\u200b.example", "ev\u2060il.example", "ev\ufeffil.example",
		"\ufeffevil.example", "ev\u2064il.example",
		"ev\u034fil.example", "ev\u180bil.example", "ev\u180cil.example", "ev\u180dil.example", "ev\ufe00il.example",
		"ev\ufe0fil.example", "evil\ufe0e.example",
		"ev\U000e0100il.example", "ev\U000e01efil.example", "e\u00ad\u200b\u2060vil.exam\ufe0fple",
		// Percent-encoded characters.
		"ev%C2%ADil.example", "evil%E3%80%82example", "%EF%BD%85vil.example", "evil%ef%bc%8eexample",
		"evil.example%E2%80%8B",
		// Ports.
		"evil.example:80", "evil.example:443", "evil.example:8443", "evil.example:", "evil.example:0",
		"evil.example:00080", "EVIL\u3002example.:65535",
		// IPv4 in other notations.
		"192.0.2.1", "192.0.2.1.", "192.0.513", "192.513", "3221225985", "0300.0.2.1", "0300.0.02.01", "0xc0.0.2.1",
		"0xC0.0x00.0x02.0x01", "0xc0000201", "0XC0000201",
		"030000001001", "0xc0.513", "0300.0x201", "192.0.0x201", "192.0.01001", "00000300.0.2.1", "0x00000000c0.0.2.1",
		"0xc0000201.", "3221225985.", "192.0x0.0x2.01", "192.0x.2.1",
		"192.0.2.1:8080", "3221225985:8080", "\uff11\uff19\uff12.0.2.1", "\u2460\u2468\u2461.0.2.1",
		"192\u30020\u30022\u30021", "192\uff0e0\uff0e2\uff0e1", "192.0.2.\u00b9",
		"19\u00b2.0.2.1", "\U0001d7cf\U0001d7d7\U0001d7d0.0.2.1", "\U0001d7d9\U0001d7e1\U0001d7da.0.2.1",
		"19\u2082.0.2.1", "192.0.2.1\u3002", "1\u00ad92.0.2.1", "0\uff58c0000201", "32\u200b21225985",
		// IPv4 within IPv6.
		"[::ffff:192.0.2.1]", "[::FFFF:192.0.2.1]", "[::ffff:c000:201]", "[0:0:0:0:0:ffff:192.0.2.1]",
		"[0:0:0:0:0:ffff:c000:201]", "[0000:0000:0000:0000:0000:FFFF:C000:0201]",
		"[::ffff:192.0.2.1]:8080", "[::0:ffff:c000:0201]", "[64:ff9b::192.0.2.1]", "[64:ff9b::c000:201]",
		"[0064:FF9B:0:0:0:0:C000:0201]",
		// IPv6 in other notations.
		"[2001:db8::bad]", "[2001:DB8::BAD]", "[2001:0db8::0bad]", "[2001:db8:0:0:0:0:0:bad]",
		"[2001:0db8:0000:0000:0000:0000:0000:0bad]", "[2001:db8::0:bad]",
		"[2001:db8::0:0:bad]", "[2001:db8:0::bad]", "[2001:db8::0.0.11.173]", "[2001:db8::bad]:8443",
		"[2001:db8::bad]:443",
		// An internationalized domain name.
		"b\u00fccher.example", "B\u00dcCHER.example", "bu\u0308cher.example", "xn--bcher-kva.example",
		"XN--BCHER-KVA.example", "xn--Bcher-Kva.Example.", "b%C3%BCcher.example",
		"www.b\u00fccher.example", "b\u00fccher\u3002example", "\uff42\u00fc\uff43\uff48\uff45\uff52.example",
		"b\u00fc\u00adcher.example", "\uff58\uff4e--bcher-kva.example",
	} {
		all = append(all, "http://"+host, "HtTpS://"+host+"/path?query#fragment")
	}
	return all
}

// oddSpellings returns URLs that some browsers correct to one of these hosts, or that look like it.
func oddSpellings() []string {
	return []string{
		"http:evil.example", "http:/evil.example", "http:///evil.example", "http:////evil.example/",
		"https:evil.example", "http:\\\\evil.example", "http:/\\evil.example", "http://\\evil.example",
		"http://evil.example\\", "http://evil.example\\.good.example", "http://evil.example\\@good.example",
		"http://evil.example\\path", "http://good.example@evil.example",
		"http://good.example:80@evil.example", "http://good.example%40evil.example",
		"http://good.example\\@evil.example", "http://@evil.example", "http://:@evil.example",
		"http://ev\til.example", "http://ev\nil.example", "ht\ntp://evil.example", " http://evil.example",
		"\x00http://evil.example", "http://evil.example\x1f", "http:/\t/evil.example",
		"http://evil.example?x", "http://evil.example#x", "http://evil.example:80?x", "//evil.example",
		"\\\\evil.example", "http://evil..example", "http://evil.example..",
		"http://[::ffff:192.0.2.1%25eth0]", "http://192.0.2.1%00.good.example", "http://%65vil.example",
		"http://evil%2Eexample",
	}
}

// TestBlockedSpellings checks that a blocked destination is refused in every spelling that browsers
// resolve to it, and in every spelling that the list uses.
func TestBlockedSpellings(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"plain": "evil.example\n192.0.2.1\n2001:db8::bad\nb\u00fccher.example\n",
		"other letters": "\ufeff.\uff25vil\u3002EXAMPLE.\r\n\t0xc0.513 # " +
			"comment\r\n[2001:DB8:0::0BAD]\r\nxn--BCHER-kva.example\r\n",
		"long": "ev\u00adil.example.\n::ffff:192.0.2.1\n2001:0db8:0000:0000:0000:0000:0000:0bad\nbu\u0308cher%2Eexample",
	} {
		var log strings.Builder
		rules := Rules{Blocked: blocklist(t, lines, &log).Blocks}
		if log.Len() > 0 {
			t.Errorf("%s: %s", name, log.String())
		}
		for _, long := range spellings() {
			if got := domain.KindOf(rules.Check(long, "")); got != domain.URLNotAllowed {
				t.Errorf("%s: %+q: %d", name, long, got)
			}
		}
		for _, long := range oddSpellings() {
			if got := domain.KindOf(rules.Check(long, "")); got != domain.URLNotAllowed && got != domain.InvalidURL {
				t.Errorf("%s: %+q: %d", name, long, got)
			}
		}
	}
}

// TestAcceptedSpellings checks that a destination that is not blocked is accepted in every
// spelling.
func TestAcceptedSpellings(t *testing.T) {
	t.Parallel()
	rules := Rules{
		Blocked: blocklist(
			t, "evil.example\n192.0.2.1\n2001:db8::bad\nb\u00fccher.example\n", new(strings.Builder),
		).Blocks,
		ShortHosts: []string{"sho.rt", "127.0.0.1:8080"},
	}
	for _, long := range []string{
		"https://example.com", "https://example.com.", "http://EXAMPLE.com:8080/a?b=http://evil.example#c",
		"https://example.com/@evil.example", "https://example.com/a\\b",
		"https://evil.example.com", "https://notevil.example", "https://evil-example.org", "https://evil.examples",
		"https://example.com/?u=evil.example",
		"https://under_score.example", "https://_dmarc.example.com", "https://-.example",
		"https://r3---sn-apo3qvuoxuxbt-j5pe.example", "https://a", "https://localhost:3000",
		"https://m\u00fcnchen.example", "https://xn--mnchen-3ya.example", "https://fa\u00df.example",
		"https://stra\u00dfe.de/\u00e4?\u00f6#\u00fc", "https://\u03b2\u03cc\u03bb\u03bf\u03c2.com",
		"https://\u4f8b\u3048.\u30c6\u30b9\u30c8",
		"https://\u0645\u062b\u0627\u0644.\u0625\u062e\u062a\u0628\u0627\u0631",
		"https://\u05d3\u05d5\u05d2\u05de\u05d4.co.il",
		"https://\u092f\u0939\u0932\u094b\u0917\u0939\u093f\u0928\u094d\u0926\u0940.com",
		"https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0438\u0441\u043f\u044b\u0442\u0430\u043d\u0438\u0435",
		"https://\uc2e4\ub840.\ud14c\uc2a4\ud2b8",
		"https://\u0e15\u0e31\u0e27\u0e2d\u0e22\u0e48\u0e32\u0e07.\u0e44\u0e17\u0e22", "https://i\u2764.ws",
		"https://\U0001f4a9.la", "https://b%C3%BCcher.example.com",
		"http://192.0.2.2", "http://192.0.2.1.example", "http://10.0.0.1:8080/", "http://1.1", "http://[2001:db8::1]",
		"http://[2001:db8::1]:8080/x", "http://[::1]:80", "http://[::ffff:192.0.2.2]",
		"https://127.0.0.1", "https://127.0.0.1:8081", "https://sho.rt:8443", "https://notsho.rt",
		"https://1e2.example", "https://3com.example", "https://0xdeadbeef.example",
		"https://example.com/%E2%80%8B", "https://example.com:65535", "https://" + strings.Repeat("a", 63) + ".example",
		"https://example.com/?q=%zz&\u2026",
	} {
		if err := rules.Check(long, "other.example"); err != nil {
			t.Errorf("%+q: %v", long, err)
		}
	}
}

// TestOwnSpellings checks that a link to the service itself is refused in every spelling, both for
// the configured host and for the host of the request.
func TestOwnSpellings(t *testing.T) {
	t.Parallel()
	for host, links := range map[string][]string{
		"https://sho.rt": {
			"http://sho.rt", "https://SHO.rt.", "https://sho.rt:443/x", "http://sho.rt:0080/x",
			"https://\uff53ho\u3002rt/abc", "https://s\u00adho.rt", "https://%EF%BD%93ho.rt",
		},
		"http://127.0.0.1:8080": {
			"http://127.0.0.1:8080/x", "http://127.1:8080", "http://2130706433:08080", "http://0x7f.1:8080",
			"http://0177.0.0.01:8080", "http://[::ffff:127.0.0.1]:8080", "http://[::ffff:7f00:1]:8080",
		},
		"http://[2001:db8::1]:8080": {"http://[2001:db8::1]:8080", "http://[2001:DB8:0::0001]:8080/x"},
		"https://[2001:db8::1]":     {"http://[2001:db8::1]", "https://[2001:DB8:0::0001]:443/x"},
		"https://xn--krz-hoa.example": {
			"https://k\u00fcrz.example/x", "https://ku\u0308rz.example", "https://XN--KRZ-HOA.example",
		},
	} {
		short, err := ShortHost(host)
		if err != nil {
			t.Fatal(err)
		}
		for _, long := range links {
			if got := domain.KindOf(
				(Rules{ShortHosts: []string{"a.example", short}}).Check(long, ""),
			); got != domain.URLNotAllowed {
				t.Errorf("configured host %s: %+q: %d", host, long, got)
			}
			if got := domain.KindOf((Rules{}).Check(long, short)); got != domain.URLNotAllowed {
				t.Errorf("request host %s: %+q: %d", host, long, got)
			}
		}
	}
	if short, err := ShortHost("http://999.1.1.1:8080"); err == nil || short != "" {
		t.Errorf("%q, %v", short, err)
	}
}

// TestUselessLines checks that lines that can never match are logged with their numbers, once for
// each version of the file.
func TestUselessLines(t *testing.T) {
	t.Parallel()
	useless := []string{
		"http://evil.example", "evil.example/path", "evil.example:8080", "user@evil.example", "0.0.0.0 evil.example",
		"10.0.0.0/8", "*.evil.example", "evil..example",
		"xn--zzzzzz9999.example", "256.1.1.1", "[::1", "fe80::1%eth0", "...", strings.Repeat("x", 64) + ".example",
		"evil.example; x",
	}
	var log strings.Builder
	list := blocklist(t, "# hosts\n\nfirst.example\n"+strings.Join(useless, "\n")+"\nlast.example\n", &log)
	if !list.Blocks("first.example") || !list.Blocks("last.example") || len(list.hosts) != 2 {
		t.Errorf("the hosts are %v", list.hosts)
	}
	got := log.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, fmt.Sprint("lines=", len(useless))) {
		t.Errorf("logged:\n%s", got)
	}
	for number, entry := range useless[:maxUselessLines] {
		if !strings.Contains(got, fmt.Sprintf("line %d, ", number+4)) || !strings.Contains(got, entry) {
			t.Errorf("line %d is not logged: %s", number+4, got)
		}
	}
	list.checked = time.Time{}
	if list.Blocks("evil.example") || log.String() != got {
		t.Errorf("logged again: %s", log.String())
	}
}

func blocklist(t *testing.T, lines string, log *strings.Builder) *Blocklist {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := ReadBlocklist(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// FuzzReadSite checks that a site, written as a URL, is read as the same site, and that an accepted
// URL has the host that net/url finds in it.
func FuzzReadSite(f *testing.F) {
	for _, seed := range slices.Concat(spellings(), oddSpellings()) {
		f.Add(seed)
	}
	for _, seed := range []string{
		"http://[::1]:80/", "http://a%2525b", "http://\u1e9e", "http://a\\b", "http://0x.0x", "http://xn--a-",
		"http://\u2135",
	} {
		f.Add(seed)
	}
	var rules Rules
	f.Fuzz(func(t *testing.T, address string) {
		read, err := readSite(address)
		if err != nil {
			if rules.Check(address, "") == nil {
				t.Errorf("%+q is accepted: %v", address, err)
			}
			return
		}
		again, err := readSite("http://" + read.written())
		if err != nil || again != read {
			t.Errorf("%+q is %v, which is %v, %v", address, read, again, err)
		}
		if rules.Check(address, "") != nil {
			return
		}
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatalf("%+q is accepted: %v", address, err)
		}
		if other, err := readSite("http://" + parsed.Host); err != nil || other != read {
			t.Errorf("%+q leads to %v, by net/url to %v, %v", address, read, other, err)
		}
	})
}

// written returns the site as a URL contains it.
func (s site) written() string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port != "" {
		host += ":" + s.port
	}
	return host
}

// BenchmarkCheckLongURL measures the check of a usual destination and of destinations that need
// conversion.
func BenchmarkCheckLongURL(b *testing.B) {
	list := &Blocklist{hosts: map[string]struct{}{"evil.example": {}}, checked: time.Now().Add(24 * time.Hour)}
	rules := Rules{ShortHosts: []string{"sho.rt"}, Blocked: list.Blocks}
	for name, long := range map[string]string{
		"plain": "https://www.example.com/some/path?with=parameters", "IPv4": "http://192.0.2.7/x",
		"IPv6":    "http://[2001:db8::1]/x",
		"Unicode": "https://www.b\u00fccher.example/x", "punycode": "https://www.xn--bcher-kva.example/x",
		"upper case": "https://WWW.Example.com/x",
		"long":       "https://" + strings.Repeat("\u00fc.", 30) + "example/",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := rules.Check(long, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
