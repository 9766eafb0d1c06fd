package redirect

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"linkledger/commands/clicks"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
)

// click returns the click of a visit.
func (h *Handler) click(r *http.Request, link queries.Redirect, now time.Time) clicks.Click {
	sender, client := h.agents.read(r.UserAgent()), h.cfg.Proxies.ClientAddress(r)
	visitor := peer.NetworkOf(client) + "\n" + r.UserAgent()
	click := clicks.Click{
		URLID: link.URLID.String(), Visitor: h.cfg.Pseudonyms.Of(visitor),
		At:  now.Truncate(time.Microsecond),
		Bot: sender.Robot || isPrefetch(r.Header), Referrer: referrerHost(r.Header),
		Browser: sender.Browser, OS: sender.OS, Device: sender.Device, Country: h.country(client),
		Program: sender.Program,
	}
	if !sender.Robot && click.Bot {
		click.Program = "" // the page is loaded in advance and may never be seen
	}
	if h.cfg.Former != nil {
		click.Former = h.cfg.Former.Of(visitor)
	}
	return click
}

// country returns the country code of an address, or an empty string if it is unknown.
func (h *Handler) country(client string) string {
	if h.cfg.Country == nil {
		return ""
	}
	address, err := netip.ParseAddr(client)
	if err != nil {
		return ""
	}
	return h.cfg.Country(address)
}

// isPrefetch reports whether a request loads a page in advance, which the visitor may never see.
func isPrefetch(header http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for _, value := range header[name] {
			value = strings.ToLower(value)
			if strings.Contains(value, "prefetch") || strings.Contains(value, "prerender") ||
				strings.Contains(value, "preview") {
				return true
			}
		}
	}
	return false
}

// referrerHost returns the host of the referring page in lower case, or an empty string if it is
// unknown.
func referrerHost(header http.Header) string {
	values := header["Referer"]
	if len(values) == 0 {
		return ""
	}
	page, err := url.Parse(values[0])
	if err != nil || !shortlink.ValidHost(page.Host) {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(page.Hostname(), "."))
}
