package redirect

import (
	"strings"
	"testing"

	"linkledger/httpapi/peer"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	known, err := newAgents()
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]peer.Agent{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 " +
			"Mobile/15E148 Safari/604.1": {Browser: "Safari", OS: "iOS", Device: "mobile"},
		"Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0": {
			Browser: "Firefox", OS: "Linux", Device: "desktop",
		},
		"Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 " +
			"Safari/604.1": {
			Browser: "Safari", OS: "iOS", Device: "tablet",
		},
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":  {Bot: true},
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)": {Bot: true},
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)":                {Bot: true},
		"WhatsApp/2.23.20.0": {Bot: true},
		"curl/8.0":           {},
		"Mallory's name/1":   {}, // a name that is not on the lists is not stored
		"":                   {},
		strings.Repeat("x", 20_000) + "Googlebot": {},
	} {
		for range 2 { // the second time from the cache
			if got := *known.read(header); got != want {
				t.Errorf("%s is %v; want %v", header, got, want)
			}
		}
	}
}
