package console

import (
	"net/url"
	"strconv"
)

// pageSize is how many entries a list shows.
const pageSize = 50

// pageRecord says which part of a list an answer has.
type pageRecord struct {
	Results int   `json:"results_count"`
	Total   int64 `json:"total_count"`
	Offset  int   `json:"offset"`
}

// pager leads to the neighbours of a page of a list.
type pager struct {
	First, Last         int    // numbers of the entries, from 1
	Previous, Following string // addresses; empty: none
}

// newPager returns the pager of a page of a list with a query.
func newPager(path string, query url.Values, at pageRecord) pager {
	to := func(offset int) string {
		other := make(url.Values)
		for name, values := range query {
			other[name] = values
		}
		other.Set("offset", strconv.Itoa(offset))
		return path + "?" + other.Encode()
	}
	p := pager{First: at.Offset + 1, Last: at.Offset + at.Results}
	if at.Offset > 0 {
		p.Previous = to(max(0, at.Offset-pageSize))
	}
	if int64(p.Last) < at.Total {
		p.Following = to(p.Last)
	}
	return p
}
