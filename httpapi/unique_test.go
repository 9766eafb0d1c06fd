package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
)

func TestDisableLongURLDuplicates(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	const one, two = `"long_url":"https://example.com/1"`, `"long_url":"https://example.com/2"`
	unique := func(c *client, flag, fields string) item {
		t.Helper()
		a := c.call("POST", "/v3/urls?disable_long_url_duplicates="+flag, `{"urls":[{`+fields+`}]}`)
		a.is(http.StatusOK, apierror.CodeOK)
		return a.URLs[0]
	}
	total := func(want int64) {
		t.Helper()
		equal(t, "total", c.must("GET", "/v3/urls", "").Page.TotalCount, want)
	}

	// Rule 3: without the parameter a long URL can have several links. The oldest one counts as the
	// existing one.
	oldest := c.create(one + `,"tags":["t"],"note":"first"`)
	for _, off := range []string{"", "0", "false"} {
		if again := unique(c, off, one); again.Hash == oldest.Hash {
			t.Errorf("%q: the existing link was returned", off)
		}
	}
	total(4)
	// Rule 4.
	s.visit(t, "GET", "/"+oldest.Hash)
	s.caughtUp(t)
	for _, on := range []string{"1", "true", "account"} {
		got := unique(c, on, one+`,"note":"ignored","tags":["u"]`)
		equal(t, "hash", got.Hash, oldest.Hash)
		equal(t, "kept", got.Note+" "+strings.Join(got.Tags, ","), "first t")
		equal(t, "clicks", got.TotalClicks, 1)
		got.failed(t, apierror.CodeOK, "")
	}
	total(4)
	if hers := unique(bob, "1", one); hers.Hash == oldest.Hash {
		t.Error("another account's link was returned")
	}
	// Rule 5.
	equal(t, "new hash", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	total(5)
	equal(t, "same long URL", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	refused := unique(c, "1", two+`,"custom_hash":"mine"`)
	refused.failed(t, apierror.CodeHashUnavailable, "in use")
	equal(t, "echo", *refused.LongURL+" "+*refused.CustomHash, "https://example.com/2 mine")
	unique(bob, "1", one+`,"custom_hash":"mine"`).failed(t, apierror.CodeHashUnavailable, "in use")
	total(5)

	// A link that was edited to this long URL also exists, and one that was edited away from it
	// does not.
	c.must("PATCH", "/v3/urls/mine", `{"urls":[{`+two+`}]}`)
	equal(t, "edited", unique(c, "1", two).Hash, "mine")
	c.must("PATCH", "/v3/urls/mine", `{"urls":[{`+one+`}]}`)
	if got := unique(c, "1", two); got.Hash == "mine" {
		t.Error("a link that leads elsewhere was returned")
	}
	total(6)

	batch := c.must("POST", "/v3/urls?disable_long_url_duplicates=account", `{"urls":[{"long_url":"https://example.com/3"},{`+one+`},
		{"long_url":"https://example.com/3"},{"long_url":"https://example.com/3","note":"x"}]}`)
	equal(t, "existing", batch.URLs[1].Hash, oldest.Hash)
	equal(t, "equal items", batch.URLs[2].Hash+batch.URLs[3].Hash, batch.URLs[0].Hash+batch.URLs[0].Hash)
	total(7)
}
