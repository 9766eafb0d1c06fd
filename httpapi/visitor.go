package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/mileusna/useragent"

	"linkledger/commands/clicks"
	"linkledger/queries"
)

const (
	// maxUserAgent is how much of a User-Agent header is looked at, in bytes.
	maxUserAgent = 512
	// agentsMemory is what the header values that were looked at may take, in bytes.
	agentsMemory   = 4 << 20
	agentOverhead  = 200 // bytes
	deviceDesktop  = "desktop"
	deviceMobile   = "mobile"
	deviceTablet   = "tablet"
	maxForwardings = 20 // addresses of X-Forwarded-For that are looked at
)

// browsers and systems are the names that clicks carry; what else a User-Agent header says is not stored.
var (
	browsers = []string{
		useragent.Chrome, useragent.HeadlessChrome, useragent.Firefox, useragent.Safari, useragent.Edge, useragent.Opera,
		useragent.OperaMini, useragent.OperaTouch, useragent.Vivaldi, useragent.InternetExplorer, useragent.SamsungBrowser,
	}
	systems = []string{
		useragent.Windows, useragent.WindowsPhone, useragent.Android, useragent.MacOS, useragent.IOS, useragent.Linux,
		useragent.FreeBSD, useragent.ChromeOS, useragent.Harmony,
	}
)

// previews fetch a link to show what is behind it, and are no bots to the library.
var previews = []string{"WhatsApp/", "SkypeUriPreview", "Google-PageRenderer", "Iframely/", "Embedly/"}

// agent is what a User-Agent header tells.
type agent struct {
	bot                 bool
	browser, os, device string // empty: unknown
}

func readAgent(header string) *agent {
	parsed := useragent.Parse(header)
	a := &agent{bot: parsed.Bot || slices.ContainsFunc(previews, func(name string) bool { return strings.Contains(header, name) })}
	if slices.Contains(browsers, parsed.Name) {
		a.browser = parsed.Name
	}
	if slices.Contains(systems, parsed.OS) {
		a.os = parsed.OS
	}
	switch {
	case a.bot:
	case parsed.Tablet:
		a.device = deviceTablet
	case parsed.Mobile:
		a.device = deviceMobile
	case parsed.Desktop:
		a.device = deviceDesktop
	}
	return a
}

// agents remembers what User-Agent headers tell: to read one takes longer than the rest of a redirect.
type agents struct {
	cache *otter.Cache[string, *agent]
}

func newAgents() (agents, error) {
	cache, err := otter.New(&otter.Options[string, *agent]{
		MaximumWeight: agentsMemory,
		Weigher: func(header string, _ *agent) uint32 {
			return uint32(agentOverhead + len(header)) //nolint:gosec // at most maxUserAgent
		},
	})
	if err != nil {
		return agents{}, fmt.Errorf("memory of user agents: %w", err)
	}
	return agents{cache}, nil
}

func (a agents) read(header string) *agent {
	if len(header) > maxUserAgent {
		header = header[:maxUserAgent]
	}
	if known, ok := a.cache.GetIfPresent(header); ok {
		return known
	}
	read := readAgent(header)
	a.cache.Set(strings.Clone(header), read)
	return read
}

// click returns the visit of a link, as it is recorded.
func (s *server) click(r *http.Request, target queries.Redirect, now time.Time) clicks.Click {
	from, client := s.agents.read(r.UserAgent()), s.clientAddress(r)
	visitor := client + "\n" + r.UserAgent()
	click := clicks.Click{
		URLID: target.URLID.String(), Visitor: s.pseudonyms.of(visitor), At: now.Truncate(time.Microsecond),
		Bot: from.bot || isPrefetch(r.Header), Referrer: referrerHost(r.Header),
		Browser: from.browser, OS: from.os, Device: from.device, Country: s.country(client),
	}
	if s.former != nil {
		click.Former = s.former.of(visitor)
	}
	return click
}

// country returns the country of an address, as far as it is known.
func (s *server) country(client string) string {
	if s.cfg.Country == nil {
		return ""
	}
	address, err := netip.ParseAddr(client)
	if err != nil {
		return ""
	}
	return s.cfg.Country(address)
}

// isPrefetch tells of requests for a page that nobody may ever look at.
func isPrefetch(header http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for _, value := range header[name] {
			value = strings.ToLower(value)
			if strings.Contains(value, "prefetch") || strings.Contains(value, "prerender") || strings.Contains(value, "preview") {
				return true
			}
		}
	}
	return false
}

// referrerHost returns the host of the page that a visitor comes from, in lower case; empty: unknown.
func referrerHost(header http.Header) string {
	values := header["Referer"]
	if len(values) == 0 {
		return ""
	}
	page, err := url.Parse(values[0])
	if err != nil || !validHost(page.Host) {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(page.Hostname(), "."))
}

// clientAddress returns the address that a request comes from. What X-Forwarded-For says is believed as far as trusted
// proxies say it: from the connection backwards, up to the first address that is not one of them.
func (s *server) clientAddress(r *http.Request) string {
	client := address(r.RemoteAddr)
	if !s.trusts(client) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && i >= len(hops)-maxForwardings; i-- {
		hop := address(strings.TrimSpace(hops[i]))
		if _, err := netip.ParseAddr(hop); err != nil {
			return client
		}
		client = hop
		if !s.trusts(client) {
			return client
		}
	}
	return client
}

// trusts tells whether an address is that of a trusted proxy.
func (s *server) trusts(client string) bool {
	if len(s.cfg.TrustedProxies) == 0 {
		return false
	}
	parsed, err := netip.ParseAddr(client)
	return err == nil && slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(parsed) })
}
