package page

// A change may be stored while the read models do not show it yet. The form is then answered with a
// redirect to a page whose address has the commit position of the change. The browser loads that
// page again until it shows the change.

import (
	"net/http"
	"net/url"
	"strconv"
)

// writtenParameter is the parameter of a page with the position of the change that it has to show.
const writtenParameter = "written"

// nameLate adds the position of the writes of this request to the address of the redirect, unless
// the page at that address shows them already.
func (p *Page) nameLate() {
	written := p.TakeWritten()
	if written == 0 || p.pages.Shown == nil {
		return
	}
	to, err := url.Parse(p.Redirect)
	if err != nil || p.pages.Shown(p.C.Context(), to.Path, written) {
		return
	}
	query := to.Query()
	query.Set(writtenParameter, strconv.FormatUint(written, 10))
	to.RawQuery = query.Encode()
	p.Redirect = to.String()
}

// readLate sets Late while the page lacks the writes up to the position in its address. Once the
// page has them, it redirects to its address without the position.
func (p *Page) readLate() {
	query := p.Query()
	if p.C.Request.Method != http.MethodGet || !query.Has(writtenParameter) {
		return
	}
	position, err := strconv.ParseUint(query.Get(writtenParameter), 10, 64)
	if err == nil && p.pages.Shown != nil && !p.pages.Shown(p.C.Context(), p.Path(), position) {
		p.Late = true
		return
	}
	query.Del(writtenParameter)
	to := url.URL{Path: p.Path(), RawPath: p.C.Request.URL.RawPath, RawQuery: query.Encode()}
	p.Redirect = to.String()
}
