package pagetest

// This file checks pages in narrow and wide windows, and in light and dark colors.

import (
	_ "embed"
	"os"
	"path/filepath"
	"regexp"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"linkledger/httpapi/httpapitest"
)

// axeScript is axe-core, which finds the parts of a page that people with disabilities cannot use.
//
//go:embed axe.min.js
var axeScript string

// addAxe runs axe-core in the page. The content security policy of the page forbids a script
// element for it.
func (b *Tab) addAxe() {
	b.T.Helper()
	Evaluate[bool](b, axeScript+"; true")
}

// axe returns the serious findings of axe-core on the page.
func (b *Tab) axe() []string {
	b.T.Helper()
	return Evaluate[[]string](b, `axe.run().then(found => found.violations
		.filter(v => ["serious", "critical"].includes(v.impact))
		.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200)).join(" | ")))`)
}

// Look is a size of the window and a color scheme in which a page is checked.
type Look struct {
	name          string
	width, height int64
	scheme        string
}

// Phone is the look of a page on a phone.
var Phone = Look{"phone", 390, 844, "light"}

var looks = []Look{
	{"narrow-light", 320, 700, "light"},
	{"narrow-dark", 320, 700, "dark"},
	Phone,
	{"wide-light", 1280, 900, "light"},
	{"wide-dark", 1280, 900, "dark"},
	{"widest", 2560, 1400, "light"},
}

// At gives a tab this look.
func (l Look) At(b *Tab) {
	b.T.Helper()
	b.Do(chromedp.EmulateViewport(l.width, l.height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
	if _, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, media); err != nil {
		b.T.Fatal(err)
	}
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// screenshot writes an image of the page into the folder that TEST_SCREENSHOTS names. If
// TEST_SCREENSHOTS is empty, it does nothing.
func (b *Tab) screenshot(name string) {
	b.T.Helper()
	folder := os.Getenv("TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(b.Context, chromedp.FullScreenshot(100))
	if err != nil {
		b.T.Fatal(err)
	}
	//nolint:gosec // who runs the test names the folder
	if err := os.MkdirAll(folder, 0o750); err != nil {
		b.T.Fatal(err)
	}
	file := filepath.Join(folder, name+".png")
	//nolint:gosec // who runs the test names the folder
	if err := os.WriteFile(file, image, 0o600); err != nil {
		b.T.Fatal(err)
	}
}

// LooksRight checks pages in every look.
func (b *Tab) LooksRight(pages map[string]string) {
	b.T.Helper()
	for name, path := range pages {
		b.Open(path)
		httpapitest.Equal(b.T, "address", b.Path(), path)
		b.LooksRightNow(name)
	}
}

// LooksRightNow checks the open page in every look.
func (b *Tab) LooksRightNow(name string) {
	b.T.Helper()
	b.addAxe()
	for _, l := range looks {
		l.At(b)
		b.screenshot(notName.ReplaceAllString(name, "-") + "-" + l.name)
		if wide := Evaluate[int64](b, "document.documentElement.scrollWidth"); wide > l.width {
			b.T.Errorf("%s, %s: the page is %d pixels wide", name, l.name, wide)
		}
	}
	for _, l := range []Look{looks[1], looks[3]} { // narrow and dark, wide and light
		l.At(b)
		for _, finding := range b.axe() {
			b.T.Errorf("%s, %s: %s", name, l.name, finding)
		}
	}
	b.Quiet()
}
