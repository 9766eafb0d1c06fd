package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

func TestDisableLongURLDuplicates(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	const one, two = `"long_url":"https://example.com/1"`, `"long_url":"https://example.com/2"`
	unique := func(c *httpapitest.Client, flag, fields string) httpapitest.Item {
		t.Helper()
		a := c.Call("POST", "/v3/urls?disable_long_url_duplicates="+flag, `{"urls":[{`+fields+`}]}`)
		a.Is(http.StatusOK, apierror.CodeOK)
		return a.URLs[0]
	}
	total := func(want int64) {
		t.Helper()
		httpapitest.Equal(t, "total", c.Must("GET", "/v3/urls", "").Page.TotalCount, want)
	}

	// Rule 3: without the parameter a long URL can have several links. The oldest one counts as the
	// existing one.
	oldest := c.Create(one + `,"tags":["t"],"note":"first"`)
	for _, off := range []string{"", "0", "false"} {
		if again := unique(c, off, one); again.Hash == oldest.Hash {
			t.Errorf("%q: the existing link was returned", off)
		}
	}
	total(4)
	// Rule 4.
	s.Visit(t, "GET", "/"+oldest.Hash)
	s.CatchUp(t)
	for _, on := range []string{"1", "true", "account"} {
		got := unique(c, on, one+`,"note":"ignored","tags":["u"]`)
		httpapitest.Equal(t, "hash", got.Hash, oldest.Hash)
		httpapitest.Equal(t, "kept", got.Note+" "+strings.Join(got.Tags, ","), "first t")
		httpapitest.Equal(t, "clicks", got.TotalClicks, 1)
		got.Failed(t, apierror.CodeOK, "")
	}
	total(4)
	if hers := unique(bob, "1", one); hers.Hash == oldest.Hash {
		t.Error("another account's link was returned")
	}
	// Rule 5.
	httpapitest.Equal(t, "new hash", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	total(5)
	httpapitest.Equal(t, "same long URL", unique(c, "1", one+`,"custom_hash":"mine"`).Hash, "mine")
	refused := unique(c, "1", two+`,"custom_hash":"mine"`)
	refused.Failed(t, apierror.CodeHashUnavailable, "in use")
	httpapitest.Equal(t, "echo", *refused.LongURL+" "+*refused.CustomHash, "https://example.com/2 mine")
	unique(bob, "1", one+`,"custom_hash":"mine"`).Failed(t, apierror.CodeHashUnavailable, "in use")
	total(5)

	// A link that was edited to this long URL also exists, and one that was edited away from it
	// does not.
	c.Must("PATCH", "/v3/urls/mine", `{"urls":[{`+two+`}]}`)
	httpapitest.Equal(t, "edited", unique(c, "1", two).Hash, "mine")
	c.Must("PATCH", "/v3/urls/mine", `{"urls":[{`+one+`}]}`)
	if got := unique(c, "1", two); got.Hash == "mine" {
		t.Error("a link that leads elsewhere was returned")
	}
	total(6)

	batch := c.Must("POST", "/v3/urls?disable_long_url_duplicates=account", `{"urls":[{"long_url":"https://example.com/3"},{`+one+`},
		{"long_url":"https://example.com/3"},{"long_url":"https://example.com/3","note":"x"}]}`)
	httpapitest.Equal(t, "existing", batch.URLs[1].Hash, oldest.Hash)
	httpapitest.Equal(t, "equal items", batch.URLs[2].Hash+batch.URLs[3].Hash, batch.URLs[0].Hash+batch.URLs[0].Hash)
	total(7)
}
