// Package pager makes the links from one page of a list to the next. It knows no list.
package pager

import (
	"maps"
	"net/url"
	"strconv"

	"linkledger/httpapi/contract"
)

// Size is how many entries a page of a list shows.
const Size = 50

// Pager has the links from a page of a list to its neighbors.
type Pager struct {
	First, Last         int    // numbers of the entries, from 1
	Previous, Following string // addresses; empty: none
}

// New returns the pager of a page of a list at a path, with the query of the list.
func New(path string, query url.Values, at contract.Page) Pager {
	p := Pager{First: at.Offset + 1, Last: at.Offset + at.ResultsCount}
	if at.Offset > 0 {
		p.Previous = address(path, query, max(0, at.Offset-Size))
	}
	if int64(p.Last) < at.TotalCount {
		p.Following = address(path, query, p.Last)
	}
	return p
}

// LastPage returns the address of the last page of a list if a page is beyond the end, else "".
func LastPage(path string, query url.Values, at contract.Page) string {
	if at.Offset <= 0 || int64(at.Offset) < at.TotalCount {
		return ""
	}
	return address(path, query, int((at.TotalCount-1)/Size*Size))
}

// address returns the address of the page that begins at an offset, which counts from 0.
func address(path string, query url.Values, offset int) string {
	to := maps.Clone(query)
	if to == nil {
		to = make(url.Values)
	}
	to.Del("offset")
	if offset > 0 {
		to.Set("offset", strconv.Itoa(offset))
	}
	if len(to) == 0 {
		return path
	}
	return path + "?" + to.Encode()
}
