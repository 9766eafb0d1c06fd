package peer

import (
	"slices"
	"strings"

	"github.com/mileusna/useragent"
)

// MaxUserAgent is how many bytes of a User-Agent header are parsed.
const MaxUserAgent = 512

const (
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

// Agent is a parsed User-Agent header.
type Agent struct {
	Bot                 bool   // it is no person, or a preview
	Browser, OS, Device string // from a small set of names; empty: unknown
}

// ReadAgent parses a User-Agent header.
func ReadAgent(header string) Agent {
	header = header[:min(len(header), MaxUserAgent)]
	parsed := useragent.Parse(header)
	a := Agent{
		Bot: parsed.Bot || slices.ContainsFunc(
			previews, func(name string) bool { return strings.Contains(header, name) },
		),
	}
	if slices.Contains(browsers, parsed.Name) {
		a.Browser = parsed.Name
	}
	if slices.Contains(systems, parsed.OS) {
		a.OS = parsed.OS
	}
	switch {
	case a.Bot:
	case parsed.Tablet:
		a.Device = deviceTablet
	case parsed.Mobile:
		a.Device = deviceMobile
	case parsed.Desktop:
		a.Device = deviceDesktop
	}
	return a
}

// String returns browser and system as people read them, such as Firefox on Linux. It is empty if
// both are unknown.
func (a Agent) String() string {
	if a.Browser != "" && a.OS != "" {
		return a.Browser + " on " + a.OS
	}
	return a.Browser + a.OS
}
