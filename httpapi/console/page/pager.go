package page

import (
	"net/url"
	"strconv"
)

// Size is how many entries a list shows.
const Size = 50

// Part says which part of a list an answer of the API has.
type Part struct {
	Results int   `json:"results_count"`
	Total   int64 `json:"total_count"`
	Offset  int   `json:"offset"`
}

// Pager leads to the neighbours of a page of a list.
type Pager struct {
	First, Last         int    // numbers of the entries, from 1
	Previous, Following string // addresses; empty: none
}

// NewPager returns the pager of a page of a list with a query.
func NewPager(path string, query url.Values, at Part) Pager {
	to := func(offset int) string {
		other := make(url.Values)
		for name, values := range query {
			other[name] = values
		}
		other.Set("offset", strconv.Itoa(offset))
		return path + "?" + other.Encode()
	}
	p := Pager{First: at.Offset + 1, Last: at.Offset + at.Results}
	if at.Offset > 0 {
		p.Previous = to(max(0, at.Offset-Size))
	}
	if int64(p.Last) < at.Total {
		p.Following = to(p.Last)
	}
	return p
}
