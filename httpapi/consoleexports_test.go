package httpapi_test

import (
	"strings"
	"testing"

	"linkledger/events/archive"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// TestPagesOfExports checks an export of this log in each format, and one of another log.
func TestPagesOfExports(t *testing.T) {
	t.Parallel()
	s, other := browsertest.NewSite(t, ""), httpapitest.New(t)
	owner, foreign := s.Client(t, "acme"), other.Client(t, "acme")
	for _, of := range []*httpapitest.Client{owner, foreign} {
		of.Create(`"long_url":"https://example.com/1","custom_hash":"one"`)
	}
	b := s.Browser(t)
	b.SignInBy(owner)
	for format, account := range map[archive.Format]string{archive.NDJSON: owner.ID, archive.CSV: ""} {
		page := b.Upload(s.Exported(t, format, account))
		if text := browsertest.TextOf(page.Body); !strings.Contains(page.Body, "The export is as its manifest says") ||
			!strings.Contains(text, "The log has each of its") {
			t.Errorf("an export as %s: %d\n%s", format, page.Status, page.Body)
		}
	}
	page := b.Upload(other.Exported(t, archive.NDJSON, ""))
	if !strings.Contains(browsertest.TextOf(page.Body), "The log does not have all of its") {
		t.Errorf("an export of another log: %d\n%s", page.Status, page.Body)
	}
}
