package links

import (
	"testing"

	"linkledger/httpapi/contract"
)

// TestFormOfALinkSendsWhatWasChanged checks that a field that a browser gives back in its own way is not changed.
func TestFormOfALinkSendsWhatWasChanged(t *testing.T) {
	t.Parallel()
	form := editOf(&link{URL: contract.URL{
		Hash: "a", LongURL: "https://example.com/", Note: " two\nlines ", Tags: []string{"red tape", "a, b"},
	}})
	form.Set("note"+before, " two\r\nlines ") // as browsers send a hidden field
	form.Set("note", "twolines")              // as they send a field of one line
	form.Set("max_clicks", "7")
	if item := changedFields(form); len(item) != 1 || item["max_clicks"] != int64(7) {
		t.Errorf("the form changes %v", item)
	}
	for text, want := range map[string]string{
		"www.example.com": "https://www.example.com", "münchen.example/a?b": "https://münchen.example/a?b",
		"example.com:8080/x": "https://example.com:8080/x", "nonsense": "nonsense", "mailto:a@example.com": "mailto:a@example.com",
		"http://example.com": "http://example.com", "a b.com": "a b.com", "1.5": "1.5",
	} {
		if got := WithScheme(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
