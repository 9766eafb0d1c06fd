package pagetest

// This file does in a tab what people do.

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/queries/accountlist"
)

// Tab is a tab of a real browser on the console.
type Tab struct {
	Context context.Context //nolint:containedctx // chromedp finds the tab in it
	T       *testing.T
	Base    string

	mu       sync.Mutex
	messages []string // errors of the page, including violations of its content security policy
}

// NewTab returns a tab of a browser. The tab collects the errors in the console of the browser, and
// Quiet checks them.
func NewTab(ctx context.Context, t *testing.T, base string) *Tab {
	t.Helper()
	b := &Tab{Context: ctx, T: t, Base: base}
	b.Do(chromedp.Navigate("about:blank"))
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

// Do takes steps in the tab.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	if err := chromedp.Do(b.Context, steps...); err != nil {
		b.T.Fatal(err)
	}
}

// Open opens a page.
func (b *Tab) Open(path string) { b.T.Helper(); b.Do(chromedp.Navigate(b.Base + path)) }

// Evaluate returns the value of an expression in a tab.
func Evaluate[T any](b *Tab, expression string) T {
	b.T.Helper()
	value, err := chromedp.Run(b.Context, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.T.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Path returns path and query of the page.
func (b *Tab) Path() string {
	b.T.Helper()
	return browsertest.WithoutAnswer(Evaluate[string](b, "location.pathname + location.search"))
}

// Text returns what the page shows.
func (b *Tab) Text() string { b.T.Helper(); return Evaluate[string](b, "document.body.innerText") }

// Has checks that the page shows all parts.
func (b *Tab) Has(parts ...string) {
	b.T.Helper()
	text := b.Text()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.T.Errorf("%s does not show %q\n%s", b.Path(), part, text)
		}
	}
}

// Becomes waits until the page shows all parts, without loading another document.
func (b *Tab) Becomes(parts ...string) {
	b.T.Helper()
	late := time.Now().Add(httpapitest.Timeout)
	for _, part := range parts {
		for text := b.Text(); !strings.Contains(text, part); text = b.Text() {
			if time.Now().After(late) {
				b.T.Fatalf("%s never shows %q\n%s", b.Path(), part, text)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}

// Copies presses the button that copies the short link of the page, and checks what was copied.
func (b *Tab) Copies(want string) {
	b.T.Helper()
	granted := cdpbrowser.SetPermissionParams{
		Permission: &cdpbrowser.PermissionDescriptor{Name: "clipboard-read"}, Setting: cdpbrowser.PermissionSettingGranted,
	}
	if _, err := chromedp.Call(b.Context, cdpbrowser.SetPermission, granted); err != nil {
		b.T.Fatal(err)
	}
	Evaluate[bool](b, "document.querySelector('button.copy').focus(), true")
	b.Do(chromedp.KeyEvent(kb.Enter)) // browsers let only people copy
	b.Becomes("Copied")
	httpapitest.Equal(b.T, "the copied link", Evaluate[string](b, "navigator.clipboard.readText()"), want)
}

// Click clicks an element that is visible.
func (b *Tab) Click(selector string) {
	b.T.Helper()
	if !Evaluate[bool](b, fmt.Sprintf(`(e => { if (!e || !e.checkVisibility()) return false; e.click(); return true })(
		document.querySelector(%q))`, selector)) {
		b.T.Fatalf("%s has no %s to click\n%s", b.Path(), selector, b.Text())
	}
}

// Type replaces the text of a field by keys.
func (b *Tab) Type(field, text string) {
	b.T.Helper()
	Evaluate[bool](b, fmt.Sprintf(`(e => { e.focus(); e.select(); return true })(document.querySelector(%q))`, field))
	b.Do(chromedp.KeyEvent(text))
}

// Submit clicks a button, and waits until the browser shows another document.
func (b *Tab) Submit(button string) {
	b.T.Helper()
	b.Leaves(func() { b.Click(button) })
}

// Leaves calls do, which leads to another document, and waits for that document.
func (b *Tab) Leaves(do func()) {
	b.T.Helper()
	Evaluate[bool](b, "document.documentElement.former = true")
	do()
	late := time.Now().Add(httpapitest.Timeout)
	for {
		arrived, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](
			"!document.documentElement.former && document.readyState === 'complete'",
		))
		if err == nil && arrived { // an error means that the documents change right now
			return
		}
		if time.Now().After(late) {
			b.T.Fatalf("%s is still shown: %v", b.Path(), err)
		}
	}
}

// Quiet checks that the console of the browser shows no error.
func (b *Tab) Quiet() {
	b.T.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if strings.Contains(m, "Failed to load resource") && strings.HasSuffix(m, " at "+Evaluate[string](b, "location.href")) {
			continue // the page itself is an error response
		}
		b.T.Errorf("the console of the browser shows %s", m)
	}
	b.messages = nil
}

// SignIn signs a tab in to an account by a one-time link.
func (b *Tab) SignIn(s *browsertest.Site, owner *httpapitest.Client) {
	b.T.Helper()
	key := owner.KeyNamed("").ID // the first key
	b.Open(s.SignInLink(b.T, accountlist.NewSession{Account: uuid.MustParse(owner.ID), Key: key}))
	b.Submit("main button")
}
