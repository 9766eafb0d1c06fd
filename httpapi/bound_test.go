package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/response"
)

// TestBoundKeysLearnNothingOfOtherLinks checks that to a key that is bound to tags a URL without
// them looks like one that does not exist, in each call, and that no call changes it.
func TestBoundKeysLearnNothingOfOtherLinks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	owner.must("POST", "/v3/tags", `{"label":"secret"}`)
	bound := owner.withKey(`"tags":"+news&~secret"`)
	owner.create(`"long_url":"https://example.com/shown","custom_hash":"mine","tags":["news","own"]`)
	hidden := []string{"bare", "both"}
	owner.create(`"long_url":"https://example.com/hidden","custom_hash":"bare","tags":["else"]`)
	owner.create(`"long_url":"https://example.com/hidden","custom_hash":"both","tags":["news","secret"],"note":"private"`)
	for _, hash := range append(hidden, "mine") {
		s.visit(t, "GET", "/"+hash)
	}
	edited := owner.must("PATCH", "/v3/urls?hashes=bare,both", `{"urls":[{"archived":true}]}`).header.Get(response.HeaderBatchID)
	snapshot := func() string {
		var all strings.Builder
		for _, hash := range hidden {
			for _, path := range []string{"/v3/urls/", "/v3/stats/"} {
				all.WriteString(owner.call("GET", path+hash, "").body)
			}
			all.WriteString(owner.call("GET", "/v3/urls/"+hash+"/history", "").body)
		}
		return all.String()
	}
	before := snapshot()
	at := strings.ReplaceAll(s.syncClock(), "+", "%2B")

	const edit = `{"urls":[{"note":"x","tags":["+own"]}]}`
	for _, call := range [][3]string{
		{"GET", "/v3/urls/HASH", ""},
		{"GET", "/v3/urls/HASH?at=" + at, ""},
		{"PATCH", "/v3/urls/HASH", edit},
		{"PATCH", "/v3/urls/HASH", `{"urls":[{"custom_hash":"other"}]}`},
		{"PATCH", "/v3/urls/HASH", `{"urls":[{"tags":["+news","-own"]}]}`},
		{"DELETE", "/v3/urls/HASH", ""},
		{"GET", "/v3/urls/HASH/dimensions", ""},
		{"GET", "/v3/stats/HASH", ""},
		{"DELETE", "/v3/stats/HASH", ""},
		{"GET", "/v3/urls?hashes=HASH", ""},
		{"GET", "/v3/urls?hashes=HASH&at=" + at, ""},
		{"GET", "/v3/urls?search=HASH", ""},
		{"PATCH", "/v3/urls?hashes=HASH", edit},
		{"PATCH", "/v3/urls", `{"urls":[{"hash":"HASH","note":"x"}]}`},
		{"DELETE", "/v3/urls?hashes=HASH", ""},
		{"DELETE", "/v3/stats?hashes=HASH", ""},
	} {
		of := func(hash string) *answer {
			a := bound.call(call[0], strings.ReplaceAll(call[1], "HASH", hash), strings.ReplaceAll(call[2], "HASH", hash))
			a.body = strings.ReplaceAll(a.body, hash, "HASH")
			return a
		}
		want := of("none")
		for _, hash := range hidden {
			if got := of(hash); got.status != want.status || got.body != want.body {
				t.Errorf("%v of %s: %d %s\nof one that does not exist: %d %s", call, hash, got.status, got.body, want.status, want.body)
			}
		}
	}
	for path, want := range map[string]string{
		"/v3/urls": "mine", "/v3/urls?search=hidden": "", "/v3/urls?tags=~own": "", "/v3/urls?tags=news": "mine",
		"/v3/urls?order_by=clicks": "mine", "/v3/urls?order_by=hash": "mine", "/v3/urls?order_by=modified": "mine",
		"/v3/urls?search=example&order_by=-modified": "mine", "/v3/urls?at=" + at: "mine", "/v3/urls?search=private&at=" + at: "",
	} {
		if a := bound.must("GET", path, ""); a.hashes() != want || a.Page.TotalCount != int64(len(a.URLs)) {
			t.Errorf("%s: %s of %d, want %q", path, a.hashes(), a.Page.TotalCount, want)
		}
	}
	for _, label := range []string{"secret", "else", "unknown"} {
		a := bound.call("GET", "/v3/urls?tags="+label, "")
		a.is(http.StatusNotFound, apierror.CodeTagNotFound)
		a.has("There is no tag")
	}
	bound.must("PATCH", "/v3/urls?tags=archived", `{"urls":[{"note":"x"}]}`)
	bound.must("DELETE", "/v3/stats?tags=archived", "")
	bound.must("DELETE", "/v3/urls?tags=archived", "")
	bound.call("POST", "/v3/batches/"+edited+"/undo", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	equal(t, "what the owner sees", snapshot(), before)
}

func TestBoundKeysSeeAndChangeTheirLinks(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	bound := owner.withKey(`"tags":"+news"`)
	owner.create(`"long_url":"https://example.com/0","custom_hash":"else","tags":["else"]`)
	bound.must("POST", "/v3/urls", `{"urls":[
		{"long_url":"https://example.com/1","custom_hash":"one","tags":["NEWS","first"]},
		{"long_url":"https://example.com/2","custom_hash":"two","tags":["news"]}]}`)
	equal(t, "URLs of the key", bound.counter("urls"), 2)
	equal(t, "URLs of the month", bound.counter("month_urls"), 2)
	equal(t, "URLs of the owner", owner.counter("urls"), 3)
	var labels []string
	for _, tag := range bound.must("GET", "/v3/tags", "").Tags {
		labels = append(labels, strings.ToLower(tag.Label))
	}
	slices.Sort(labels)
	equal(t, "tags", strings.Join(labels, " "), "first news")

	bound.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"edited","tags":["-first"]}]}`)
	bound.must("PATCH", "/v3/urls?tags=news", `{"urls":[{"archived":true}]}`)
	equal(t, "archived", bound.read("two").Archived, true)
	for _, refused := range []struct{ method, path, body string }{
		{"PATCH", "/v3/urls/one", `{"urls":[{"tags":["-news"]}]}`},
		{"PATCH", "/v3/urls", `{"urls":[{"hash":"one","custom_hash":"three","tags":["-news"]}]}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3"}]}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3","tags":["newsletter"]}]}`},
	} {
		a := bound.call(refused.method, refused.path, refused.body)
		if a.status != http.StatusOK || a.URLs[0].code() != apierror.CodeAccessDenied {
			t.Errorf("%v: %d %s", refused, a.status, a.body)
		}
	}
	owner.create(`"long_url":"https://example.com/3","custom_hash":"three"`) // the refused renaming left no claim

	deleted := bound.must("DELETE", "/v3/urls?hashes=one,two", "").header.Get(response.HeaderBatchID)
	equal(t, "URLs after the deletion", bound.counter("urls"), 0)
	bound.must("POST", "/v3/batches/"+deleted+"/undo", "")
	equal(t, "URLs after the undo", bound.counter("urls"), 2)
	owner.must("PATCH", "/v3/tags/news", `{"label":"other"}`)
	equal(t, "URLs after the tag was renamed", bound.counter("urls"), 0)
	bound.call("GET", "/v3/urls/one", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	bound.call("POST", "/v3/urls?disable_long_url_duplicates=1", batch(1)).is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestBoundKeysRepeatTheirOwnCallsOnly checks that a bound key does not get the answer to a call of
// another key by its Idempotency-Key.
func TestBoundKeysRepeatTheirOwnCallsOnly(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	bound := owner.withKey(`"tags":"+news"`)
	const body = `{"urls":[{"long_url":"https://example.com/","tags":["news"]}]}`
	repeat := header("Idempotency-Key", "k")
	first := owner.must("POST", "/v3/urls", body, repeat).URLs[0].Hash
	own := bound.must("POST", "/v3/urls", body, repeat).URLs[0].Hash
	if again := bound.must("POST", "/v3/urls", body, repeat).URLs[0].Hash; own == first || again != own {
		t.Errorf("the owner made %s, the bound key %s and then %s", first, own, again)
	}
}

// TestLinksThatLeaveABound races edits of a bound key with an owner that takes the tag off. A link
// that has left is not changed any more: the event store decides.
func TestLinksThatLeaveABound(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	bound := owner.withKey(`"tags":"+news"`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"raced","tags":["news"]`)
	var all, begun sync.WaitGroup
	begun.Add(4)
	for range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				a := bound.call("PATCH", "/v3/urls/raced", `{"urls":[{"note":"`+strings.Repeat("x", i)+`"}]}`)
				if i == 0 {
					begun.Done()
				}
				if a.status != http.StatusOK || a.URLs[0].code() != apierror.CodeOK {
					return
				}
			}
		})
	}
	begun.Wait()
	owner.must("PATCH", "/v3/urls/raced", `{"urls":[{"tags":["-news"]}]}`)
	all.Wait()
	history := owner.must("GET", "/v3/urls/raced/history?limit=1000", "").body
	if left := strings.LastIndex(history, "url.untagged.v1"); left < 0 ||
		strings.Contains(history[left:], "url.settings_changed.v1") {
		t.Errorf("the link was changed after it had left: %s", history)
	}
}
