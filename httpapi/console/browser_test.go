package console_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
)

// TestConsoleTellsProgress changes many links. The answer is late until the page tells how many were changed.
func TestConsoleTellsProgress(t *testing.T) {
	t.Parallel()
	told := make(chan struct{})
	_, owner, b := pagetest.NewConsoleBehind(t, func(site http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/told":
				close(told)
			case "/console/change":
				answer := httptest.NewRecorder()
				site.ServeHTTP(answer, r)
				select {
				case <-told:
				case <-time.After(httpapitest.Timeout): // no answer: the browser shows an error
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
		owner.Must("POST", "/v3/urls", `{"urls":[`+strings.TrimSuffix(
			strings.Repeat(`{"long_url":"https://example.com/","tags":["bulk"]},`, 50), ",")+`]}`)
	}
	b.Open("/console/links?tags=%2Bbulk")
	b.Click("main form[action='/console/change'] summary")
	b.Click("th input")
	b.Has("Change the ticked links (50)")
	b.Click("td input")
	b.Has("Change the ticked links (49)")
	pagetest.Evaluate[bool](b, `document.querySelector("select[name=change]").value = "archive", true`)
	// Nothing can be asked of a page that waits for the next one, so it tells by itself.
	pagetest.Evaluate[bool](b, `new MutationObserver((_, observer) => {
		if (!/^Working: 100 edited \d+ s$/.test(document.querySelector(".working")?.textContent)) return;
		observer.disconnect();
		navigator.sendBeacon("/told");
	}).observe(document, {subtree: true, childList: true, characterData: true}), true`)
	b.Submit("button[name=all]")
	httpapitest.Equal(t, "page after the change", b.Path(), "/console/links?tags=%2Bbulk")
	b.Becomes("100 links are archived", "Undo") // once it is read aloud
	b.Quiet()
}

// TestConsoleInABrowser does what a newcomer does, with scripts and without.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	for _, scripts := range []bool{true, false} {
		t.Run(fmt.Sprintf("scripts %t", scripts), func(t *testing.T) {
			t.Parallel()
			s, owner, b := pagetest.NewConsole(t)
			disabled := emulation.SetScriptExecutionDisabledParams{Value: !scripts}
			if _, err := chromedp.Call(b.Context, emulation.SetScriptExecutionDisabled, disabled); err != nil {
				t.Fatal(err)
			}
			b.Has("There are no links yet")
			b.Open("/console/account")
			b.Leaves(func() { pagetest.Evaluate[bool](b, "history.back(), true") })
			b.Type("main input[name=long_url]", "https://example.com/spring")
			b.Type("main input[name=custom_hash]", "spring")
			b.Submit("main form button")
			b.Has("spring", "https://example.com/spring", "created")
			s.Visit(t, "GET", "/spring")
			if scripts {
				b.Becomes("Clicks\n1", "Clicks by day", "Live")
				b.Click("[data-watch] button")
				b.Becomes("Paused")
				s.Visit(t, "GET", "/spring")
				b.Click("[data-watch] button")
				b.Becomes("Clicks\n2", "Live")
				b.Copies("http://" + httpapitest.ShortHost + "/spring")
			} else {
				b.Leaves(func() { b.Do(chromedp.Reload()) })
				b.Has("Clicks by day", "Clicks\n1")
			}
			b.Type("main input[name=note]", "seen")
			b.Submit("form[action='/console/links/spring'] button")
			b.Has("note empty → seen", "settings changed")
			if link := owner.Read("spring"); link.Note != "seen" {
				t.Errorf("the note is %q", link.Note)
			}
			b.Submit(".history li:first-child button")
			if link := owner.Read("spring"); link.Note != "" {
				t.Errorf("after the undo the note is %q", link.Note)
			}
			checkProof(b, owner, "spring")
			b.Has("The proof holds", "The log still begins with", "settings changed")
			b.Open("/console/keys")
			b.Type("main input[name=name]", "reader")
			b.Click("input[value='links:read']")
			b.Submit(".card:last-child button")
			b.Has("The new key reader", "It is shown here for 10 minutes", "lk_")
			b.Open("/console/links?at=2020-01-01T00:00:00Z")
			b.Has("as they were at 2020-01-01", "No link matches")
			b.Open("/console/activity")
			b.Has("1 created", "undone")
			b.Submit(".who button")
			b.Has("Sign in")
			b.Open("/console/keys")
			b.Has("API key")
			b.Quiet()
		})
	}
}

// TestConsoleByKeyboard makes a link with the keyboard alone.
func TestConsoleByKeyboard(t *testing.T) {
	t.Parallel()
	_, owner, b := pagetest.NewConsole(t)
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			b.Do(chromedp.KeyEvent(key))
		}
	}
	focused := func() string {
		t.Helper()
		return pagetest.Evaluate[string](b, "document.activeElement.name || document.activeElement.innerText.trim().split(/\\s+/).join(' ')")
	}
	press(kb.Tab)
	httpapitest.Equal(t, "the first focus", focused(), "Skip to content")
	press(kb.Enter)
	press(kb.Tab)
	httpapitest.Equal(t, "the focus after the skip", focused(), "long_url")
	if outline := pagetest.Evaluate[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
		t.Error("the focus is not visible")
	}
	press("https://example.com/typed", kb.Tab, "typed")
	b.Leaves(func() { press(kb.Enter) })
	httpapitest.Equal(t, "the page after Enter", b.Path(), "/console/links/typed")
	if link := owner.Read("typed"); *link.LongURL != "https://example.com/typed" {
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
	b.Quiet()
}

// TestConsoleEnds ends the session in another tab. What is done then leads to the sign-in, and back.
func TestConsoleEnds(t *testing.T) {
	t.Parallel()
	_, owner, b := pagetest.NewConsole(t)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	b.Open("/console/links/one")
	ctx, closeTab := chromedp.NewContext(b.Context)
	t.Cleanup(closeTab)
	other := pagetest.NewTab(ctx, t, b.Base)
	other.Open("/console/account")
	other.Has("acme", "this one")
	other.Submit(".who button")
	b.Submit("form[action='/console/links/one'] button")
	b.Has("Sign in", "API key", "Your session has ended")
	b.Type("input[name=username]", "acme")
	b.Type("input[name=key]", owner.Key)
	b.Submit("main button")
	httpapitest.Equal(t, "the page after the sign-in", b.Path(), "/console/links/one")
	b.Has("What you typed is still here")
	other.Do(chromedp.Reload())
	other.Open("/console/links/one")
	other.Has("https://example.com/")
	other.Quiet()
	b.Quiet()
}

// TestConsoleLooks opens every page narrow and wide, light and dark: nothing is cut off, axe-core has no serious
// finding, and the browser reports no error.
func TestConsoleLooks(t *testing.T) {
	t.Parallel()
	s, owner, b := pagetest.NewConsole(t)
	pages := map[string]string{"links-empty": "/console/links", "activity-empty": "/console/activity", "tags-empty": "/console/tags", "deleted-empty": "/console/deleted"}
	b.LooksRight(pages)
	for part := range 2 {
		var items []string
		for i := 30 * part; i < 30*part+30; i++ {
			items = append(items, fmt.Sprintf(
				`{"long_url":"https://example.com/%s/%d","custom_hash":"a-long-hash-%d","tags":["news","spring sale"],"note":"n %d"}`,
				strings.Repeat("path", 12), i, i, i,
			))
		}
		owner.Must("POST", "/v3/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
	}
	owner.Create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.Must("DELETE", "/v3/urls/gone", "")
	owner.Create(`"long_url":"https://example.com/` + strings.Repeat("long/", 390) + `","custom_hash":"old","tags":["news"],` +
		`"expiration_date":"2026-01-31"`)
	owner.Must("PATCH", "/v3/urls/old", `{"urls":[{"protected":true,"archived":true}]}`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"former"`)
	owner.Must("PATCH", "/v3/urls/former", `{"urls":[{"custom_hash":"present"}]}`)
	owner.Must("POST", "/v3/keys", `{"name":"reader","scopes":["links:read","stats:read"],"networks":["192.0.2.0/24"],"tags":"+news"}`)
	for day := 10; day < 20; day++ {
		s.SetTime(t, fmt.Sprintf("2026-05-%dT12:00:00Z", day+5))
		for range day % 4 {
			s.Visit(t, "GET", "/a-long-hash-1", httpapitest.Header("Referer", "https://news.example/"), httpapitest.Header("User-Agent",
				"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"))
		}
	}
	b.SignIn(s, owner) // the session has ended meanwhile
	batch := owner.Must("GET", "/v3/activity?kind=deleted", "").Activity[0].Batch
	b.LooksRight(map[string]string{
		"links": "/console/links?tags=%2Bnews", "links-none": "/console/links?search=none",
		"link":         "/console/links/a-long-hash-1?from=2026-05-18&to=2026-05-18",
		"link-deleted": "/console/links/gone", "link-days": "/console/links/a-long-hash-1?from=2026-05-16&to=2026-05-22", "call": "/console/activity/" + batch, "activity": "/console/activity", "deleted": "/console/deleted", "filters": "/console/tags/filters", "keys": "/console/keys",
		"account": "/console/account", "tags": "/console/tags", "new": "/console/new", "proofs": "/console/proofs",
		"link-old": "/console/links/old", "link-moved": "/console/links/former", "none": "/console/nothing",
		"not-allowed": "/console/links/old/delete",
	})
	checkProof(b, owner, "a-long-hash-1")
	b.Has("The proof holds")
	b.LooksRightNow("proof-checked")
	past := s.SyncClock()
	b.SignIn(s, owner)
	b.LooksRight(map[string]string{"link-past": "/console/links/a-long-hash-1?at=" + past})
	b.Submit(".who button")
	b.LooksRight(map[string]string{"sign-in": "/console/sign-in", "link-to-sign-in": "/console/sign-in/x"})
}

// checkProof pastes the proof of a link into the page that checks it.
func checkProof(b *pagetest.Tab, owner *httpapitest.Client, hash string) {
	b.T.Helper()
	file, err := json.Marshal(owner.Must("GET", "/v3/urls/"+hash+"/proof", "").Proof.File)
	if err != nil {
		b.T.Fatal(err)
	}
	b.Open("/console/proofs")
	pagetest.Evaluate[bool](b, fmt.Sprintf("document.querySelector('textarea').value = %s, true", file))
	b.Submit("main form button")
}
