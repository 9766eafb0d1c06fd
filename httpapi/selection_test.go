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

func TestEditSelection(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	c.createAll("a", "b", "c")
	bob.createAll("hers")

	same := c.call("PATCH", "/v3/urls?hashes=a,none,b,hers,a", `{"urls":[{"note":"same","tags":["+t"],"hash":"c"}]}`)
	same.is(http.StatusOK, apierror.CodeOK)
	equal(t, "order", same.hashes(), "a,none,b,hers")
	same.URLs[0].failed(t, apierror.CodeOK, "")
	same.URLs[1].failed(t, apierror.CodeURLNotFound, "none")
	same.URLs[3].failed(t, apierror.CodeURLNotFound, "hers")
	if same.Page != nil {
		t.Error("the response to an edit has a page")
	}
	for _, hash := range []string{"a", "b"} {
		got := c.read(hash)
		equal(t, hash, got.Note+" "+strings.Join(got.Tags, ","), "same t")
	}
	equal(t, "c", c.read("c").Note, "")
	equal(t, "hers", bob.read("hers").Note, "")

	each := c.call("PATCH", "/v3/urls", `{"urls":[
		{"hash":"a","note":"1"},{"hash":"b","expiration_date":"2030-01-01","tags":["-T"]},{"note":"2"},{"hash":"a b","note":"3"},
		{"hash":"a","tags":["-none"]},{"hash":"a","long_url":"x:y"},{"hash":"a","note":"last"},{"hash":"none"},{"hash":"c"}]}`)
	each.is(http.StatusOK, apierror.CodeOK)
	equal(t, "first note", each.URLs[0].Note, "1")
	equal(t, "tags", len(each.URLs[1].Tags), 0)
	each.URLs[2].failed(t, apierror.CodeMissingInput, "hash is missing")
	each.URLs[3].failed(t, apierror.CodeInvalidHash, "1 to 25")
	each.URLs[4].failed(t, apierror.CodeTagNotFound, "none")
	each.URLs[5].failed(t, apierror.CodeURLNotAllowed, "")
	equal(t, "failed hash", each.URLs[5].Hash, "a")
	each.URLs[7].failed(t, apierror.CodeURLNotFound, "none")
	equal(t, "unchanged", each.URLs[8].Hash, "c")
	equal(t, "a", c.read("a").Note, "last")
	equal(t, "expiration_date", *c.read("b").ExpirationDate, "2030-01-01")
	c.must("PATCH", "/v3/urls", `{"urls":[{"hash":"b","expiration_date":null}]}`)
	if got := c.read("b").ExpirationDate; got != nil {
		t.Errorf("expiration_date is %s; want none", *got)
	}
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

func TestDeleteSelection(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	c.createAll("a", "b", "c", "kept")
	bob.createAll("hers")
	c.must("PATCH", "/v3/urls/kept", `{"urls":[{"protected":true}]}`)
	deleted := c.must("DELETE", "/v3/urls?hashes=a%2Ckept,none,hers,b", "")
	equal(t, "body", deleted.body, `{"error":{"code":0,"message":""},"version":"3.1"}`+"\n")
	equal(t, "left", c.must("GET", "/v3/urls", "").hashes(), "kept,c")
	equal(t, "total", c.must("GET", "/v3/urls", "").Page.TotalCount, 2)
	bob.read("hers")
	c.must("DELETE", "/v3/urls?hashes=a,kept", "")
	equal(t, "left", c.must("GET", "/v3/urls", "").hashes(), "kept,c")
}

func TestResetStats(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	c.createAll("a", "b", "c")
	visit := func(hashes ...string) {
		t.Helper()
		for _, hash := range hashes {
			s.visit(t, "GET", "/"+hash)
		}
		s.caughtUp(t)
	}
	stats := func(hash string) string {
		t.Helper()
		r := c.must("GET", "/v3/stats/"+hash, "").Stats[0]
		return strings.Join([]string{
			strconv.FormatInt(r.TotalClicks, 10), strconv.FormatInt(r.UniqueClicks, 10),
			strconv.Itoa(len(r.DailyClicks)),
		}, " ")
	}
	visit("a", "a", "b", "c")
	equal(t, "before", stats("a"), "2 1 1")

	bob.call("DELETE", "/v3/stats/a", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	bob.must("DELETE", "/v3/stats?hashes=a,b", "")
	equal(t, "after another account's reset", stats("a"), "2 1 1")

	reset := c.must("DELETE", "/v3/stats/a", "")
	equal(t, "body", reset.body, `{"error":{"code":0,"message":""},"version":"3.1"}`+"\n")
	equal(t, "after the reset", stats("a"), "0 0 0")
	if got := c.read("a"); got.TotalClicks != 0 || got.UniqueClicks != 0 || !got.Visited || got.LastVisit == nil {
		t.Errorf("after the reset: %+v", got)
	}
	visit("a")
	equal(t, "the same visitor again", stats("a"), "1 1 1")
	c.must("DELETE", "/v3/stats?hashes=a,none,b", "")
	equal(t, "a", stats("a"), "0 0 0")
	equal(t, "b", stats("b"), "0 0 0")
	equal(t, "c", stats("c"), "1 1 1")
	c.call("DELETE", "/v3/stats/none", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
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
