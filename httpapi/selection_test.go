package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

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
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	c.CreateAll("a", "b", "c", "d")
	bob.CreateAll("hers")
	c.Must("DELETE", "/v3/urls/d", "")
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
		a := c.Must("GET", "/v3/urls?"+query, "")
		httpapitest.Equal(t, query, a.Hashes(), want)
	}
	httpapitest.Equal(t, "total", c.Must("GET", "/v3/urls?hashes=a,b,none&limit=1", "").Page.TotalCount, 2)
}

func TestItemsMeetInTheirOrder(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.CreateAll("a", "b")
	// Each item sees the changes of the items before it.
	renamed := c.Call("PATCH", "/v3/urls", `{"urls":[{"hash":"a","custom_hash":"b"},{"hash":"b","custom_hash":"c"},
		{"hash":"a","custom_hash":"b"},{"hash":"c","note":"was b"},{"hash":"b","note":"was a"}]}`)
	renamed.Is(http.StatusOK, apierror.CodeOK)
	renamed.URLs[0].Failed(t, apierror.CodeHashUnavailable, "in use")
	httpapitest.Equal(t, "order", renamed.Hashes(), "a,c,b,c,b")
	if renamed.Page != nil {
		t.Error("the response to an edit has a page")
	}
	httpapitest.Equal(t, "b", *c.Read("b").LongURL+" "+c.Read("b").Note, "https://example.com/a was a")
	httpapitest.Equal(t, "c", *c.Read("c").LongURL+" "+c.Read("c").Note, "https://example.com/b was b")

	var items []string
	for i := range 25 {
		items = append(items, `{"long_url":"https://example.com/`+strconv.Itoa(i)+`","custom_hash":"same"}`)
	}
	created := c.Call("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	created.Is(http.StatusOK, apierror.CodeOK)
	httpapitest.Equal(t, "first", created.URLs[0].Hash, "same")
	for _, item := range created.URLs[1:] {
		item.Failed(t, apierror.CodeHashUnavailable, "in use")
	}
	both := c.Call("PATCH", "/v3/urls?hashes=b,c", `{"urls":[{"custom_hash":"one-for-both"}]}`)
	httpapitest.Equal(t, "renamed", both.URLs[0].Hash, "one-for-both")
	both.URLs[1].Failed(t, apierror.CodeHashUnavailable, "in use")
}

// TestGroupLimitComesFirst checks that a list above the group limit changes nothing, not even its
// first URLs.
func TestGroupLimitComesFirst(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.CreateAll("h0")
	s.Visit(t, "GET", "/h0")
	s.CatchUp(t)
	items := strings.Repeat(`,{"hash":"h0","note":"x"}`, 51)[1:]
	for _, call := range [][3]string{
		{"GET", "/v3/urls?hashes=" + many(51), ""},
		{"PATCH", "/v3/urls?hashes=" + many(51), `{"urls":[{"note":"x"}]}`},
		{"PATCH", "/v3/urls", `{"urls":[` + items + `]}`},
		{"DELETE", "/v3/urls?hashes=" + many(51), ""},
		{"DELETE", "/v3/stats?hashes=" + many(51), ""},
	} {
		a := c.Call(call[0], call[1], call[2])
		a.Is(http.StatusBadRequest, apierror.CodeBatchLimit)
		a.Has("50 URLs")
	}
	if got := c.Read("h0"); got.Note != "" || got.TotalClicks != 1 {
		t.Errorf("a refused call changed %+v", got)
	}
}
