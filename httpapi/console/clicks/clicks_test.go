package clicks_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
)

// TestConsoleNarrowsDays chooses days of the clicks of a link.
func TestConsoleNarrowsDays(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "acme")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for _, of := range []struct {
		day    string
		clicks int
	}{{"2026-01-10", 1}, {"2026-05-14", 1}, {"2026-05-20", 2}, {"2026-05-21", 4}} {
		s.SetTime(t, of.day+"T12:00:00Z")
		for range of.clicks {
			s.Visit(t, "GET", "/one")
		}
	}
	b := s.Browser(t)
	b.SignInBy(owner)
	for days, shows := range map[string][]string{
		"from=2026-05-20&to=2026-05-20": {"Clicks by visitor, 2026-05-20", "2 of 8 clicks", `class="chosen"`, "2026-05-14: 1"},
		"from=2026-05-14&to=2026-05-20": {"Clicks by visitor, 2026-05-14 to 2026-05-20", "3 of 8 clicks"},
		"from=2026-05-15":               {"Clicks by visitor, since 2026-05-15", "6 of 8 clicks"},
		"to=2026-05-20":                 {"Clicks by visitor, until 2026-05-20", "4 of 8 clicks"},
		"from=2026-01-10&to=2026-01-10": {"2026-01-10: 1", `class="chosen"`},
		"from=2026-06-01&to=2026-06-30": {"No clicks on these days"},
	} {
		body := b.Shows("/console/links/one?"+days, append(shows, "All days")...)
		if !strings.HasPrefix(days, "from=2026-05-20") && strings.Contains(body, "2026-05-14: 1") && strings.Contains(body, "2026-05-21: 4") {
			t.Errorf("with %s all days are charted", days)
		}
	}
	reversed := b.Call("GET", "/console/links/one?from=2026-05-20&to=2026-05-14", "")
	if reversed.Status != http.StatusBadRequest || !strings.Contains(reversed.Body, "The range ends before it begins") {
		t.Errorf("a reversed range answers %d\n%s", reversed.Status, reversed.Body)
	}
	wrong := b.Call("GET", "/console/links/one?from=soon", "")
	if wrong.Status != http.StatusBadRequest || !strings.Contains(wrong.Body, `role="alert"`) || !strings.Contains(wrong.Body, "2026-05-21: 4") ||
		!strings.Contains(wrong.Body, `value="soon"`) || !strings.Contains(wrong.Body, ">8</data>") {
		t.Errorf("a wrong day answers %d\n%s", wrong.Status, wrong.Body)
	}
}
