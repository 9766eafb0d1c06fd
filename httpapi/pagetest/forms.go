package pagetest

// This file sends forms as a browser that has opened the page of the form does.

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
)

// HiddenFields returns the hidden fields that every form of a page has.
func HiddenFields(t testing.TB, page string) url.Values {
	t.Helper()
	fields := make(url.Values)
	for _, name := range []string{"page", "by"} {
		found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("the page has no form with %s\n%s", name, page)
		}
		fields.Set(name, html.UnescapeString(found[1]))
	}
	fields.Set("request", uuid.NewString())
	return fields
}

// Twice sends a form in two requests at once, and checks that both get the same answer.
func Twice(b *browsertest.Browser, path string, fields url.Values) *httpapitest.Answer {
	b.T.Helper()
	answers := make([]*httpapitest.Answer, 2)
	var both sync.WaitGroup
	for i := range answers {
		same := b.Copy()
		both.Go(func() { answers[i] = same.Post(path, fields) })
	}
	both.Wait()
	for _, a := range answers {
		if to := a.Header.Get("Location"); a.Status != http.StatusSeeOther || to != answers[0].Header.Get("Location") {
			b.T.Errorf("%s, sent twice, answers %d %q and %d %q\n%s", path,
				answers[0].Status, answers[0].Header.Get("Location"), a.Status, to, a.Body)
		}
	}
	return answers[0]
}
