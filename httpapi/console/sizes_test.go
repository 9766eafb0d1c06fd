package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
	"linkledger/projections"
)

// TestConsoleOnAPhone checks that lists begin near the top of a phone, that long destinations do not fill it, that
// actions lie on the screen, and that the panel for ticked rows is near by keyboard.
func TestConsoleOnAPhone(t *testing.T) {
	t.Parallel()
	_, owner, b := pagetest.NewConsole(t)
	var items []string
	for i := range 50 {
		items = append(items, fmt.Sprintf(
			`{"long_url":"https://example.com/%s%d","custom_hash":"a-hash-of-22-letter-s-%d","tags":["news"]}`,
			strings.Repeat("long/", 390), i, i,
		))
	}
	owner.Must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.Must("DELETE", "/v3/urls/gone", "")
	pagetest.Phone.At(b)
	b.Open("/console/links")
	if top := pagetest.Evaluate[float64](b, "document.querySelector('tbody tr').getBoundingClientRect().top"); top > 700 {
		t.Errorf("the first row begins at %.0f pixels", top)
	}
	if tall := pagetest.Evaluate[float64](b, "Math.max(...[...document.querySelectorAll('tbody tr')].map(r => r.offsetHeight))"); tall > 220 {
		t.Errorf("a row is %.0f pixels tall", tall)
	}
	stops := pagetest.Evaluate[int64](b, `(all => all.indexOf(document.querySelector("#bulk summary")))(
		[...document.querySelectorAll("a[href], button, input, select, summary")].filter(e => e.checkVisibility() && e.type !== "hidden"))`)
	if stops < 0 || stops > 30 {
		t.Errorf("the panel for ticked rows is %d tabs away", stops)
	}
	b.Click(".whole summary") // the whole destination on request
	b.Has(strings.Repeat("long/", 390))
	for _, path := range []string{"/console/activity", "/console/deleted", "/console/keys", "/console/account"} {
		b.Open(path)
		if far := pagetest.Evaluate[float64](b, `Math.max(...[...document.querySelectorAll("td.act button, td.act summary")]
			.filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().right), 0)`); far > 390 {
			t.Errorf("%s has an action at %.0f pixels", path, far)
		}
	}
	b.Open("/console/links/a-hash-of-22-letter-s-0")
	if tall := pagetest.Evaluate[float64](b, "document.querySelector('.link').offsetHeight"); tall > 844 {
		t.Errorf("the card of a link is %.0f pixels tall", tall)
	}
	b.Quiet()
}

// TestConsoleBecomesWhole makes a link while projections are paused. The page says so, waits for who types into it, and
// becomes whole by itself.
func TestConsoleBecomesWhole(t *testing.T) {
	t.Parallel()
	s, owner, b := pagetest.NewConsoleBehind(t, func(site http.Handler) http.Handler { return site }, httpapitest.Impatient)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"before"`)
	s.AwaitLevel(t, projections.Links)
	s.Pause(t, projections.Links)
	b.Type("main input[name=long_url]", "https://example.com/spring")
	b.Type("main input[name=custom_hash]", "spring")
	stopTyping := typesAlways(b, "input[name=at]", "2026-01-01T00:00") // from the start, or it is opened again before
	b.Submit("main form button")
	b.Has("Saved, not visible yet", "https://example.com/spring")
	late := b.Path()
	b.LooksRightNow("late")
	httpapitest.Equal(t, "the page while somebody types", b.Path(), late)
	stopTyping()
	pagetest.Evaluate[bool](b, "document.querySelector('input[name=at]').value = '', true")
	s.Resume(t, projections.Links)
	const whole = "/console/links/spring"
	for over := time.Now().Add(httpapitest.Timeout); ; {
		at, err := chromedp.Run(b.Context, chromedp.Evaluate[string](
			"document.readyState === 'complete' && !location.search.includes('written=') ? location.pathname : ''",
		))
		if err == nil && at == whole { // an error means that the documents change right now
			break
		}
		if time.Now().After(over) {
			t.Fatalf("%s never becomes whole: %v", at, err)
		}
	}
	b.Has("https://example.com/spring", "Settings")
	b.Quiet()
}

// typesAlways has a value typed into a field of each document that opens, until stop.
func typesAlways(b *pagetest.Tab, field, value string) (stop func()) {
	b.T.Helper()
	script, err := chromedp.Call(b.Context, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: fmt.Sprintf(`document.addEventListener("DOMContentLoaded", () => {
			const field = document.querySelector(%q);
			if (field) field.value = %q;
		})`, field, value),
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return func() {
		b.T.Helper()
		same := page.RemoveScriptToEvaluateOnNewDocumentParams(script)
		if _, err := chromedp.Call(b.Context, page.RemoveScriptToEvaluateOnNewDocument, same); err != nil {
			b.T.Fatal(err)
		}
	}
}
