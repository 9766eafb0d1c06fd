package pager_test

import (
	"net/url"
	"testing"

	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/contract"
)

func TestPager(t *testing.T) {
	t.Parallel()
	query := url.Values{"search": {"a b"}, "offset": {"7"}}
	for _, test := range []struct {
		what string
		at   contract.Page
		want pager.Pager
		last string // address of the last page, for a page beyond the end
	}{
		{"the only page", contract.Page{TotalCount: 50, ResultsCount: 50}, pager.Pager{First: 1, Last: 50}, ""},
		{
			"the first page",
			contract.Page{TotalCount: 51, ResultsCount: 50},
			pager.Pager{First: 1, Last: 50, Following: "/list?offset=50&search=a+b"},
			"",
		},
		{
			"a page in the middle",
			contract.Page{TotalCount: 151, ResultsCount: 50, Offset: 100},
			pager.Pager{
				First: 101, Last: 150, Previous: "/list?offset=50&search=a+b", Following: "/list?offset=150&search=a+b",
			},
			"",
		},
		{
			"the last page",
			contract.Page{TotalCount: 51, ResultsCount: 1, Offset: 50},
			pager.Pager{First: 51, Last: 51, Previous: "/list?search=a+b"},
			"",
		},
		{
			"an offset that no page has",
			contract.Page{TotalCount: 51, ResultsCount: 31, Offset: 20},
			pager.Pager{First: 21, Last: 51, Previous: "/list?search=a+b"},
			"",
		},
		{
			"a page beyond the end",
			contract.Page{TotalCount: 100, Offset: 100},
			pager.Pager{First: 101, Last: 100, Previous: "/list?offset=50&search=a+b"},
			"/list?offset=50&search=a+b",
		},
		{
			"a page of an empty list",
			contract.Page{Offset: 50},
			pager.Pager{First: 51, Last: 50, Previous: "/list?search=a+b"},
			"/list?search=a+b",
		},
	} {
		if got := pager.New("/list", query, test.at); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.what, got, test.want)
		}
		if got := pager.LastPage("/list", query, test.at); got != test.last {
			t.Errorf("%s leads to %q, want %q", test.what, got, test.last)
		}
	}
	if got := pager.LastPage("/list", nil, contract.Page{TotalCount: 3, Offset: 50}); got != "/list" {
		t.Errorf("without a query: %q", got)
	}
	if got := query.Get("offset"); got != "7" {
		t.Errorf("the query of the page has changed: %v", query)
	}
}
