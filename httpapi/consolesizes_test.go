package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"linkledger/projections"
)

// TestConsoleOnAPhone checks that lists begin near the top of a phone, that long destinations do not fill it, that
// actions lie on the screen, and that the panel for ticked rows is near by keyboard.
func TestConsoleOnAPhone(t *testing.T) {
	t.Parallel()
	_, owner, b := newConsole(t)
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(
			`{"long_url":"https://example.com/%s%d","custom_hash":"a-hash-of-22-letter-s-%d","tags":["news"]}`,
			strings.Repeat("long/", 390), i, i,
		))
	}
	owner.must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.must("DELETE", "/v3/urls/gone", "")
	look{"phone", 390, 844, "light"}.at(b)
	b.open("/console/links")
	if top := evaluated[float64](b, "document.querySelector('tbody tr').getBoundingClientRect().top"); top > 700 {
		t.Errorf("the first row begins at %.0f pixels", top)
	}
	if tall := evaluated[float64](b, "Math.max(...[...document.querySelectorAll('tbody tr')].map(r => r.offsetHeight))"); tall > 220 {
		t.Errorf("a row is %.0f pixels tall", tall)
	}
	stops := evaluated[int64](b, `(all => all.indexOf(document.querySelector("#bulk summary")))(
		[...document.querySelectorAll("a[href], button, input, select, summary")].filter(e => e.checkVisibility() && e.type !== "hidden"))`)
	if stops < 0 || stops > 30 {
		t.Errorf("the panel for ticked rows is %d tabs away", stops)
	}
	b.click(".whole summary") // the whole destination on request
	b.has(strings.Repeat("long/", 390))
	for _, path := range []string{"/console/activity", "/console/deleted", "/console/keys", "/console/account"} {
		b.open(path)
		if far := evaluated[float64](b, `Math.max(...[...document.querySelectorAll("td.act button, td.act summary")]
			.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().right), 0)`); far > 390 {
			t.Errorf("%s has an action at %.0f pixels", path, far)
		}
	}
	b.open("/console/links/a-hash-of-22-letter-s-0")
	if tall := evaluated[float64](b, "document.querySelector('.link').offsetHeight"); tall > 844 {
		t.Errorf("the card of a link is %.0f pixels tall", tall)
	}
	b.quiet()
}

// TestConsoleBecomesWhole makes a link while projections are paused. The page says so, waits for who types into it, and
// becomes whole by itself.
func TestConsoleBecomesWhole(t *testing.T) {
	t.Parallel()
	s, owner, b := newConsoleBehind(t, func(site http.Handler) http.Handler { return site }, impatient)
	owner.create(`"long_url":"https://example.com/","custom_hash":"before"`)
	s.awaitLevel(t, projections.Links)
	s.pause(t, projections.Links)
	b.typed("main input[name=long_url]", "https://example.com/spring")
	b.typed("main input[name=custom_hash]", "spring")
	stopTyping := b.typesAlways("input[name=at]", "2026-01-01T00:00") // from the start, or it is opened again before
	b.submit("main form button")
	b.has("Saved, not visible yet", "https://example.com/spring")
	late := b.path()
	b.looksRightNow("late")
	equal(t, "the page while somebody types", b.path(), late)
	stopTyping()
	evaluated[bool](b, "document.querySelector('input[name=at]').value = '', true")
	s.resume(t, projections.Links)
	const whole = "/console/links/spring"
	for over := time.Now().Add(testTimeout); ; {
		at, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](
			"document.readyState === 'complete' && !location.search.includes('written=') ? location.pathname : ''",
		))
		if err == nil && at == whole { // an error means that the documents change right now
			break
		}
		if time.Now().After(over) {
			t.Fatalf("%s never becomes whole: %v", at, err)
		}
	}
	b.has("https://example.com/spring", "Settings")
	b.quiet()
}

// typesAlways has a value typed into a field of each document that opens, until stop.
func (b *tab) typesAlways(field, value string) (stop func()) {
	b.t.Helper()
	script, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: fmt.Sprintf(`document.addEventListener("DOMContentLoaded", () => {
			const field = document.querySelector(%q);
			if (field) field.value = %q;
		})`, field, value),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		same := page.RemoveScriptToEvaluateOnNewDocumentParams(script)
		if _, err := chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, same); err != nil {
			b.t.Fatal(err)
		}
	}
}
