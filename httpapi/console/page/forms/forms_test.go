package forms_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/pagetest"
)

// TestTypedTextStaysInThePage sends a form that is too long, and one while the database is away: the page that answers
// has what was typed, and sends it again.
func TestTypedTextStaysInThePage(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	b := s.Browser(t)
	b.SignInBy(s.Client(t, "acme"))
	fields := pagetest.HiddenFields(t, b.Shows("/console/new"))
	fields.Set("lines", strings.Repeat("https://example.com/long\n", 50_000))
	if a := b.Post("/console/new", fields); a.Status < 400 || strings.Count(a.Body, "https://example.com/long") != 50_000 {
		t.Errorf("a long paste answers %d with %d bytes", a.Status, len(a.Body))
	}
	fields.Set("lines", "https://example.com/1\nhttps://example.com/2")
	if err := s.DB.Close(); err != nil {
		t.Fatal(err)
	}
	a := b.Post("/console/new", fields)
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, "Send it again") ||
		!strings.Contains(a.Body, "https://example.com/1\nhttps://example.com/2</textarea>") ||
		!strings.Contains(a.Body, `name="request" value="`+fields.Get("request")) {
		t.Errorf("without the database a form answers %d\n%s", a.Status, a.Body)
	}
}
