package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"linkledger/queries/accountlist"
)

// tab is a tab of a real browser on the console.
type tab struct {
	ctx  context.Context //nolint:containedctx // chromedp finds the tab in it
	t    *testing.T
	base string

	mu       sync.Mutex
	messages []string // errors of the page, with those of its policy
}

// newTab returns a tab of a browser, which reports what the console of the browser shows as an error.
func newTab(ctx context.Context, t *testing.T, base string) *tab {
	t.Helper()
	b := &tab{ctx: ctx, t: t, base: base}
	b.do(chromedp.Navigate("about:blank"))
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the browser is closed
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException {
				b.mu.Lock()
				b.messages = append(b.messages, m.String()+" at "+m.URL)
				b.mu.Unlock()
			}
		}
	}()
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.base + path)) }

// evaluated returns the value of an expression in a tab.
func evaluated[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// path returns path and query of the page.
func (b *tab) path() string {
	b.t.Helper()
	return answerName.ReplaceAllString(evaluated[string](b, "location.pathname + location.search"), "")
}

// text returns what the page shows.
func (b *tab) text() string { b.t.Helper(); return evaluated[string](b, "document.body.innerText") }

// has checks that the page shows all parts.
func (b *tab) has(parts ...string) {
	b.t.Helper()
	text := b.text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s does not show %q\n%s", b.path(), part, text)
		}
	}
}

// becomes waits until the page shows all parts, without another document.
func (b *tab) becomes(parts ...string) {
	b.t.Helper()
	late := time.Now().Add(testTimeout)
	for _, part := range parts {
		for text := b.text(); !strings.Contains(text, part); text = b.text() {
			if time.Now().After(late) {
				b.t.Fatalf("%s never shows %q\n%s", b.path(), part, text)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// copies presses the button that copies the short link of the page, and checks what was copied.
func (b *tab) copies(want string) {
	b.t.Helper()
	granted := cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "clipboard-read"}, Setting: cdpbrowser.PermissionSettingGranted,
	}
	if _, err := chromedp.Call(b.ctx, cdpbrowser.SetPermission, granted); err != nil {
		b.t.Fatal(err)
	}
	evaluated[bool](b, "document.querySelector('button.copy').focus(), true")
	b.do(chromedp.KeyEvent(kb.Enter)) // browsers allow it to people alone
	b.becomes("Copied")
	equal(b.t, "the copied link", evaluated[string](b, "navigator.clipboard.readText()"), want)
}

// click clicks an element that is visible.
func (b *tab) click(selector string) {
	b.t.Helper()
	if !evaluated[bool](b, fmt.Sprintf(`(e => { if (!e || !e.checkVisibility()) return false; e.click(); return true })(
		document.querySelector(%q))`, selector)) {
		b.t.Fatalf("%s has no %s to click\n%s", b.path(), selector, b.text())
	}
}

// typed replaces the text of a field by keys.
func (b *tab) typed(field, text string) {
	b.t.Helper()
	evaluated[bool](b, fmt.Sprintf(`(e => { e.focus(); e.select(); return true })(document.querySelector(%q))`, field))
	b.do(chromedp.KeyEvent(text))
}

// submit clicks a button, and waits until the browser shows another document.
func (b *tab) submit(button string) {
	b.t.Helper()
	b.leaves(func() { b.click(button) })
}

// leaves does something that leads to another document, and waits for it.
func (b *tab) leaves(do func()) {
	b.t.Helper()
	evaluated[bool](b, "document.documentElement.former = true")
	do()
	late := time.Now().Add(testTimeout)
	for {
		arrived, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](
			"!document.documentElement.former && document.readyState === 'complete'",
		))
		if err == nil && arrived { // an error means that the documents change right now
			return
		}
		if time.Now().After(late) {
			b.t.Fatalf("%s is still shown: %v", b.path(), err)
		}
	}
}

// quiet checks that the console of the browser shows no error.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if strings.Contains(m, "Failed to load resource") && strings.HasSuffix(m, " at "+evaluated[string](b, "location.href")) {
			continue // the page itself is a refusal
		}
		b.t.Errorf("the console of the browser shows %s", m)
	}
	b.messages = nil
}

// serveBrowsers serves a site until the test ends. Requests of pages that are watched end then, also later ones.
func serveBrowsers(t *testing.T, site http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(site)
	server.Config.BaseContext = func(net.Listener) context.Context { return t.Context() }
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// newConsole returns a console with an account and a tab that is signed in to it.
func newConsole(t *testing.T) (*site, *client, *tab) {
	t.Helper()
	return newConsoleBehind(t, func(site http.Handler) http.Handler { return site })
}

// newConsoleBehind does the same, with what is between the browser and the site.
func newConsoleBehind(
	t *testing.T, between func(http.Handler) http.Handler, adjust ...func(*Config),
) (*site, *client, *tab) {
	t.Helper()
	browser := openBrowser(t)
	s := newSite(t, "", adjust...)
	server := serveBrowsers(t, between(s.handler))
	owner := s.client(t, "acme")
	b := newTab(browser, t, server.URL)
	s.signInTab(b, owner)
	return s, owner, b
}

// TestConsoleTellsProgress changes many links. The answer is late until the page tells how many were changed.
func TestConsoleTellsProgress(t *testing.T) {
	t.Parallel()
	told := make(chan struct{})
	_, owner, b := newConsoleBehind(t, func(site http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/told":
				close(told)
			case "/console/change":
				answer := httptest.NewRecorder()
				site.ServeHTTP(answer, r)
				select {
				case <-told:
				case <-time.After(testTimeout): // no answer: the browser shows an error
					return
				}
				maps.Copy(w.Header(), answer.Header())
				w.WriteHeader(answer.Code)
			default:
				site.ServeHTTP(w, r)
			}
		})
	})
	for range 2 {
		owner.must("POST", "/v3/urls", `{"urls":[`+strings.TrimSuffix(
			strings.Repeat(`{"long_url":"https://example.com/","tags":["bulk"]},`, 50), ",")+`]}`)
	}
	b.open("/console/links?tags=%2Bbulk")
	b.click("main form[action='/console/change'] summary")
	b.click("th input")
	b.has("Change those that are ticked (50)")
	b.click("td input")
	b.has("Change those that are ticked (49)")
	evaluated[bool](b, `document.querySelector("select[name=change]").value = "archive", true`)
	// Nothing can be asked of a page that waits for the next one, so it tells by itself.
	evaluated[bool](b, `new MutationObserver((_, observer) => {
		if (!/^Working: 100 edited \d+ s$/.test(document.querySelector(".working")?.textContent)) return;
		observer.disconnect();
		navigator.sendBeacon("/told");
	}).observe(document, {subtree: true, childList: true, characterData: true}), true`)
	b.submit("button[name=all]")
	equal(t, "page after the change", b.path(), "/console/links?tags=%2Bbulk")
	b.becomes("100 links are archived", "Undo") // once it is read aloud
	b.quiet()
}

// signInTab signs a tab in to an account by a one-time link.
func (s *site) signInTab(b *tab, owner *client) {
	b.t.Helper()
	key := owner.keyNamed("").ID // the first key
	b.open(s.signInLink(b.t, accountlist.NewSession{Account: uuid.MustParse(owner.id), Key: key}))
	b.submit("main button")
}

// TestConsoleInABrowser does what a newcomer does, with scripts and without.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(fmt.Sprintf("scripts %t", scripts), func(t *testing.T) {
			t.Parallel()
			s, owner, b := newConsole(t)
			disabled := emulation.SetScriptExecutionDisabledParams{Value: !scripts}
			if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, disabled); err != nil {
				t.Fatal(err)
			}
			b.has("There are no links yet")
			b.open("/console/account")
			b.leaves(func() { evaluated[bool](b, "history.back(), true") })
			b.typed("main input[name=long_url]", "https://example.com/spring")
			b.typed("main input[name=custom_hash]", "spring")
			b.submit("main form button")
			b.has("spring", "https://example.com/spring", "created")
			s.visit(t, "GET", "/spring")
			if scripts {
				b.becomes("Clicks\n1", "Clicks by day", "Live")
				b.click("[data-watch] button")
				b.becomes("Paused")
				s.visit(t, "GET", "/spring")
				b.click("[data-watch] button")
				b.becomes("Clicks\n2", "Live")
				b.copies("http://" + shortHost + "/spring")
			} else {
				b.leaves(func() { b.do(chromedp.Reload()) })
				b.has("Clicks by day", "Clicks\n1")
			}
			b.typed("main input[name=note]", "seen")
			b.submit("form[action='/console/links/spring'] button")
			b.has("note empty → seen", "settings changed")
			if link := owner.read("spring"); link.Note != "seen" {
				t.Errorf("the note is %q", link.Note)
			}
			b.submit(".history li:first-child button")
			if link := owner.read("spring"); link.Note != "" {
				t.Errorf("after the undo the note is %q", link.Note)
			}
			b.checkProof(owner, "spring")
			b.has("The proof holds", "The log still begins with", "settings changed")
			b.open("/console/keys")
			b.typed("main input[name=name]", "reader")
			b.click("input[value='links:read']")
			b.submit(".card:last-child button")
			b.has("The new key reader", "It is shown here for 10 minutes", "lk_")
			b.open("/console/links?at=2020-01-01T00:00:00Z")
			b.has("as they were at 2020-01-01", "No link matches")
			b.open("/console/activity")
			b.has("1 created", "undone")
			b.submit(".who button")
			b.has("Sign in")
			b.open("/console/keys")
			b.has("API key")
			b.quiet()
		})
	}
}

// TestConsoleByKeyboard makes a link with the keyboard alone.
func TestConsoleByKeyboard(t *testing.T) {
	t.Parallel()
	_, owner, b := newConsole(t)
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			b.do(chromedp.KeyEvent(key))
		}
	}
	focused := func() string {
		t.Helper()
		return evaluated[string](b, "document.activeElement.name || document.activeElement.innerText.trim().split(/\\s+/).join(' ')")
	}
	press(kb.Tab)
	equal(t, "the first focus", focused(), "Skip to content")
	press(kb.Enter)
	press(kb.Tab)
	equal(t, "the focus after the skip", focused(), "long_url")
	if outline := evaluated[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
		t.Error("the focus is not visible")
	}
	press("https://example.com/typed", kb.Tab, "typed")
	b.leaves(func() { press(kb.Enter) })
	equal(t, "the page after Enter", b.path(), "/console/links/typed")
	if link := owner.read("typed"); *link.LongURL != "https://example.com/typed" {
		t.Errorf("made %+v", link)
	}
	seen := make(map[string]bool)
	for range 60 {
		press(kb.Tab)
		seen[focused()] = true
	}
	for _, want := range []string{"Links", "Keys", "Sign out", "note", "protected", "Save", "Delete", "Undo: delete the link"} {
		if !seen[want] {
			t.Errorf("Tab does not lead to %q, but to %q", want, slices.Sorted(maps.Keys(seen)))
		}
	}
	b.quiet()
}

// TestConsoleEnds ends the session in another tab. What is done then leads to the sign-in, and back.
func TestConsoleEnds(t *testing.T) {
	t.Parallel()
	_, owner, b := newConsole(t)
	owner.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b.open("/console/links/one")
	ctx, closeTab := chromedp.NewContext(b.ctx)
	t.Cleanup(closeTab)
	other := newTab(ctx, t, b.base)
	other.open("/console/account")
	other.has("acme", "this one")
	other.submit(".who button")
	b.submit("form[action='/console/links/one'] button")
	b.has("Sign in", "API key", "Your session has ended")
	b.typed("input[name=username]", "acme")
	b.typed("input[name=key]", owner.key)
	b.submit("main button")
	equal(t, "the page after the sign-in", b.path(), "/console/links/one")
	b.has("What you typed is still here")
	other.do(chromedp.Reload())
	other.open("/console/links/one")
	other.has("https://example.com/")
	other.quiet()
	b.quiet()
}

// axeScript is axe-core, which finds what keeps people with disabilities from a page.
const axeScript = "testdata/browser/axe.min.js"

// addAxe adds axe-core to the page, whose policy forbids to add it as a script.
func (b *tab) addAxe() {
	b.t.Helper()
	source, err := os.ReadFile(axeScript)
	if err != nil {
		b.t.Fatal(err)
	}
	evaluated[bool](b, string(source)+"; true")
}

// axe returns the serious findings of axe-core on the page.
func (b *tab) axe() []string {
	b.t.Helper()
	return evaluated[[]string](b, `axe.run().then(found => found.violations
		.filter(v => ["serious", "critical"].includes(v.impact))
		.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200)).join(" | ")))`)
}

// look is how a page is looked at.
type look struct {
	name          string
	width, height int64
	scheme        string
}

var looks = []look{
	{"narrow-light", 320, 700, "light"},
	{"narrow-dark", 320, 700, "dark"},
	{"phone", 390, 844, "light"},
	{"wide-light", 1280, 900, "light"},
	{"wide-dark", 1280, 900, "dark"},
	{"widest", 2560, 1400, "light"},
}

func (l look) at(b *tab) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(l.width, l.height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// screenshot writes what the page looks like into the folder that TEST_SCREENSHOTS names, if it names one.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	folder := os.Getenv("TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), image, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestConsoleLooks opens every page narrow and wide, light and dark: nothing is cut off, axe-core has no serious
// finding, and the browser reports no error.
func TestConsoleLooks(t *testing.T) {
	t.Parallel()
	s, owner, b := newConsole(t)
	pages := map[string]string{"links-empty": "/console/links", "activity-empty": "/console/activity", "tags-empty": "/console/tags", "deleted-empty": "/console/deleted"}
	b.looksRight(pages)
	for part := range 2 {
		var items []string
		for i := 30 * part; i < 30*part+30; i++ {
			items = append(items, fmt.Sprintf(
				`{"long_url":"https://example.com/%s/%d","custom_hash":"a-long-hash-%d","tags":["news","spring sale"],"note":"n %d"}`,
				strings.Repeat("path", 12), i, i, i,
			))
		}
		owner.must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	}
	owner.create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.must("DELETE", "/v3/urls/gone", "")
	owner.create(`"long_url":"https://example.com/` + strings.Repeat("long/", 390) + `","custom_hash":"old","tags":["news"],` +
		`"expiration_date":"2026-01-31"`)
	owner.must("PATCH", "/v3/urls/old", `{"urls":[{"protected":true,"archived":true}]}`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"former"`)
	owner.must("PATCH", "/v3/urls/former", `{"urls":[{"custom_hash":"present"}]}`)
	owner.must("POST", "/v3/keys", `{"name":"reader","scopes":["links:read","stats:read"],"networks":["192.0.2.0/24"],"tags":"+news"}`)
	for day := 10; day < 20; day++ {
		s.at(t, fmt.Sprintf("2026-05-%dT12:00:00Z", day+5))
		for range day % 4 {
			s.visit(t, "GET", "/a-long-hash-1", header("Referer", "https://news.example/"), header("User-Agent",
				"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"))
		}
	}
	s.signInTab(b, owner) // the session has ended meanwhile
	batch := owner.must("GET", "/v3/activity?kind=deleted", "").Activity[0].Batch
	b.looksRight(map[string]string{
		"links": "/console/links?tags=%2Bnews", "links-none": "/console/links?search=none",
		"link":         "/console/links/a-long-hash-1?from=2026-05-18&to=2026-05-18",
		"link-deleted": "/console/links/gone", "link-days": "/console/links/a-long-hash-1?from=2026-05-16&to=2026-05-22", "call": "/console/activity/" + batch, "activity": "/console/activity", "deleted": "/console/deleted", "filters": "/console/tags/filters", "keys": "/console/keys",
		"account": "/console/account", "tags": "/console/tags", "new": "/console/new", "proofs": "/console/proofs",
		"link-old": "/console/links/old", "link-moved": "/console/links/former", "none": "/console/nothing",
		"not-allowed": "/console/links/old/delete",
	})
	b.checkProof(owner, "a-long-hash-1")
	b.has("The proof holds")
	b.looksRightNow("proof-checked")
	past := s.syncClock()
	s.signInTab(b, owner)
	b.looksRight(map[string]string{"link-past": "/console/links/a-long-hash-1?at=" + past})
	b.submit(".who button")
	b.looksRight(map[string]string{"sign-in": "/console/sign-in", "link-to-sign-in": "/console/sign-in/x"})
}

// looksRight checks pages in every look.
func (b *tab) looksRight(pages map[string]string) {
	b.t.Helper()
	for name, path := range pages {
		b.open(path)
		equal(b.t, "address", b.path(), path)
		b.looksRightNow(name)
	}
}

// looksRightNow checks the page that is open in every look.
func (b *tab) looksRightNow(name string) {
	b.t.Helper()
	b.addAxe()
	for _, l := range looks {
		l.at(b)
		b.screenshot(notName.ReplaceAllString(name, "-") + "-" + l.name)
		if wide := evaluated[int64](b, "document.documentElement.scrollWidth"); wide > l.width {
			b.t.Errorf("%s, %s: the page is %d pixels wide", name, l.name, wide)
		}
	}
	for _, l := range []look{looks[1], looks[3]} { // narrow and dark, wide and light
		l.at(b)
		for _, finding := range b.axe() {
			b.t.Errorf("%s, %s: %s", name, l.name, finding)
		}
	}
	b.quiet()
}

// checkProof pastes the proof of a link into the page that checks it.
func (b *tab) checkProof(owner *client, hash string) {
	b.t.Helper()
	file, err := json.Marshal(owner.must("GET", "/v3/urls/"+hash+"/proof", "").Proof.File)
	if err != nil {
		b.t.Fatal(err)
	}
	b.open("/console/proofs")
	evaluated[bool](b, fmt.Sprintf("document.querySelector('textarea').value = %s, true", file))
	b.submit("main form button")
}
