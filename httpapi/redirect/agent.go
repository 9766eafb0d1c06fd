package redirect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maypok86/otter/v2"
	"github.com/mileusna/useragent"
)

const (
	// maxUserAgent is how many bytes of a User-Agent header are parsed.
	maxUserAgent = 512
	// agentsMemory bounds the cache of parsed headers, in bytes.
	agentsMemory  = 4 << 20
	agentOverhead = 200 // bytes of a cache entry besides its key

	deviceDesktop = "desktop"
	deviceMobile  = "mobile"
	deviceTablet  = "tablet"
)

// browsers and systems are the names that clicks may carry. Other names are not stored, because a
// client can send any text.
var (
	browsers = []string{
		useragent.Chrome, useragent.HeadlessChrome, useragent.Firefox, useragent.Safari,
		useragent.Edge, useragent.Opera, useragent.OperaMini, useragent.OperaTouch,
		useragent.Vivaldi, useragent.InternetExplorer, useragent.SamsungBrowser,
	}
	systems = []string{
		useragent.Windows, useragent.WindowsPhone, useragent.Android, useragent.MacOS,
		useragent.IOS, useragent.Linux, useragent.FreeBSD, useragent.ChromeOS, useragent.Harmony,
	}
)

// previews are parts of the User-Agent headers of programs that fetch a link to show a preview. The
// library does not classify them as bots.
var previews = []string{
	"WhatsApp/", "SkypeUriPreview", "Google-PageRenderer", "Iframely/", "Embedly/",
}

// agent is a parsed User-Agent header.
type agent struct {
	bot                 bool
	browser, os, device string // empty: unknown
}

func readAgent(header string) *agent {
	parsed := useragent.Parse(header)
	a := &agent{
		bot: parsed.Bot || slices.ContainsFunc(
			previews, func(name string) bool { return strings.Contains(header, name) },
		),
	}
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

// agents caches parsed User-Agent headers, because parsing one takes longer than the rest of a
// redirect.
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
		return agents{}, fmt.Errorf("cache of user agents: %w", err)
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
