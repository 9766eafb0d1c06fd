package redirect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/maypok86/otter/v2"
	"github.com/mileusna/useragent"
)

const (
	// maxUserAgent is how much of a User-Agent header is looked at, in bytes.
	maxUserAgent = 512
	// agentsMemory is what the header values that were looked at may take, in bytes.
	agentsMemory  = 4 << 20
	agentOverhead = 200 // bytes
	deviceDesktop = "desktop"
	deviceMobile  = "mobile"
	deviceTablet  = "tablet"
)

// browsers and systems are the names that clicks carry; what else a User-Agent header says is not
// stored.
var (
	browsers = []string{
		useragent.Chrome, useragent.HeadlessChrome, useragent.Firefox, useragent.Safari,
		useragent.Edge, useragent.Opera,
		useragent.OperaMini, useragent.OperaTouch, useragent.Vivaldi, useragent.InternetExplorer,
		useragent.SamsungBrowser,
	}
	systems = []string{
		useragent.Windows, useragent.WindowsPhone, useragent.Android, useragent.MacOS,
		useragent.IOS, useragent.Linux,
		useragent.FreeBSD, useragent.ChromeOS, useragent.Harmony,
	}
)

// previews fetch a link to show what is behind it, and are no bots to the library.
var previews = []string{
	"WhatsApp/", "SkypeUriPreview", "Google-PageRenderer", "Iframely/", "Embedly/",
}

// agent is what a User-Agent header tells.
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

// agents remembers what User-Agent headers tell: to read one takes longer than the rest of a
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
