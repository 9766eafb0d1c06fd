package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
)

// hashes returns the hashes of a response, in its order.
func (a *answer) hashes() string {
	hashes := make([]string, len(a.URLs))
	for i, u := range a.URLs {
		hashes[i] = u.Hash
	}
	return strings.Join(hashes, ",")
}

// createAll creates one URL for each hash, in order.
func (c *client) createAll(hashes ...string) {
	c.t.Helper()
	for _, hash := range hashes {
		c.create(`"long_url":"https://example.com/` + hash + `","custom_hash":"` + hash + `"`)
	}
}

// many returns n hashes separated by commas.
func many(n int) string {
	hashes := make([]string, n)
	for i := range hashes {
		hashes[i] = "h" + strconv.Itoa(i)
	}
	return strings.Join(hashes, ",")
}

func TestReadSelection(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	c.createAll("a", "b", "c", "d")
	bob.createAll("hers")
	c.must("DELETE", "/v3/urls/d", "")
	for query, want := range map[string]string{
		"hashes=a,c":                         "c,a",
		"hashes=a%2Cc":                       "c,a",
		"hashes=%20a%20,,b,a,":               "b,a",
		"hashes=a,none,hers,d":               "a",
		"hashes=none":                        "",
		"hashes=a,b,c&limit=1&offset=1":      "b",
		"hashes=" + many(48) + ",a,a,b":      "b,a",
		"hashes=&limit=1":                    "c",
		"hashes=a,b,c&order_by=created":      "c,b,a",
		"hashes=A":                           "",
		"hashes=" + strings.Repeat("a,", 99): "a",
	} {
		a := c.must("GET", "/v3/urls?"+query, "")
		equal(t, query, a.hashes(), want)
	}
	equal(t, "total", c.must("GET", "/v3/urls?hashes=a,b,none&limit=1", "").Page.TotalCount, 2)
}

func TestItemsMeetInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.createAll("a", "b")
	// Each item sees the changes of the items before it.
	renamed := c.call("PATCH", "/v3/urls", `{"urls":[{"hash":"a","custom_hash":"b"},{"hash":"b","custom_hash":"c"},
		{"hash":"a","custom_hash":"b"},{"hash":"c","note":"was b"},{"hash":"b","note":"was a"}]}`)
	renamed.is(http.StatusOK, apierror.CodeOK)
	renamed.URLs[0].failed(t, apierror.CodeHashUnavailable, "in use")
	equal(t, "order", renamed.hashes(), "a,c,b,c,b")
	if renamed.Page != nil {
		t.Error("the response to an edit has a page")
	}
	equal(t, "b", *c.read("b").LongURL+" "+c.read("b").Note, "https://example.com/a was a")
	equal(t, "c", *c.read("c").LongURL+" "+c.read("c").Note, "https://example.com/b was b")

	var items []string
	for i := range 25 {
		items = append(items, `{"long_url":"https://example.com/`+strconv.Itoa(i)+`","custom_hash":"same"}`)
	}
	created := c.call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	created.is(http.StatusOK, apierror.CodeOK)
	equal(t, "first", created.URLs[0].Hash, "same")
	for _, item := range created.URLs[1:] {
		item.failed(t, apierror.CodeHashUnavailable, "in use")
	}
	both := c.call("PATCH", "/v3/urls?hashes=b,c", `{"urls":[{"custom_hash":"one-for-both"}]}`)
	equal(t, "renamed", both.URLs[0].Hash, "one-for-both")
	both.URLs[1].failed(t, apierror.CodeHashUnavailable, "in use")
}

// TestGroupLimitComesFirst checks that a list above the group limit changes nothing, not even its
// first URLs.
func TestGroupLimitComesFirst(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.createAll("h0")
	s.visit(t, "GET", "/h0")
	s.caughtUp(t)
	items := strings.Repeat(`,{"hash":"h0","note":"x"}`, 51)[1:]
	for _, call := range [][3]string{
		{"GET", "/v3/urls?hashes=" + many(51), ""},
		{"PATCH", "/v3/urls?hashes=" + many(51), `{"urls":[{"note":"x"}]}`},
		{"PATCH", "/v3/urls", `{"urls":[` + items + `]}`},
		{"DELETE", "/v3/urls?hashes=" + many(51), ""},
		{"DELETE", "/v3/stats?hashes=" + many(51), ""},
	} {
		a := c.call(call[0], call[1], call[2])
		a.is(http.StatusBadRequest, apierror.CodeBatchLimit)
		a.has("50 URLs")
	}
	if got := c.read("h0"); got.Note != "" || got.TotalClicks != 1 {
		t.Errorf("a refused call changed %+v", got)
	}
}
