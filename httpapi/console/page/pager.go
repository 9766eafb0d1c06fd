package page

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"linkledger/httpapi/contract"
)

// Size is how many entries a list shows.
const Size = 50

// Listed returns the parameters of a list: those with these names that have a value, and its
// offset. What is no offset counts as none: somebody has typed it.
func (p *Page) Listed(names ...string) url.Values {
	query := p.Chosen(append(names, "offset")...)
	if offset, err := strconv.Atoi(query.Get("offset")); err != nil || offset <= 0 {
		query.Del("offset")
	}
	return query
}

// Pager leads to the neighbours of a page of a list.
type Pager struct {
	First, Last         int    // numbers of the entries, from 1
	Previous, Following string // addresses; empty: none
}

// Paged is NewPager. A page beyond the end leads back to the last one.
func (p *Page) Paged(path string, query url.Values, at contract.Page) Pager {
	if at.Offset > 0 && int64(at.Offset) >= at.TotalCount && p.C.Request.Method == http.MethodGet {
		last := maps.Clone(query)
		if last == nil {
			last = make(url.Values)
		}
		last.Del("offset")
		if begin := (at.TotalCount - 1) / Size * Size; begin > 0 {
			last.Set("offset", strconv.FormatInt(begin, 10))
		}
		p.Redirect = path
		if len(last) > 0 {
			p.Redirect += "?" + last.Encode()
		}
	}
	return NewPager(path, query, at)
}

// NewPager returns the pager of a page of a list with a query.
func NewPager(path string, query url.Values, at contract.Page) Pager {
	to := func(offset int) string {
		other := make(url.Values)
		for name, values := range query {
			other[name] = values
		}
		other.Set("offset", strconv.Itoa(offset))
		return path + "?" + other.Encode()
	}
	p := Pager{First: at.Offset + 1, Last: at.Offset + at.ResultsCount}
	if at.Offset > 0 {
		p.Previous = to(max(0, at.Offset-Size))
	}
	if int64(p.Last) < at.TotalCount {
		p.Following = to(p.Last)
	}
	return p
}
