package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

// TestBoundKeysLearnNothingOfOtherLinks checks that to a key that is bound to tags a URL without
// them looks like one that does not exist, in each call, and that no call changes it.
func TestBoundKeysLearnNothingOfOtherLinks(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	owner.Must("POST", "/v3/tags", `{"label":"secret"}`)
	bound := owner.WithKey(`"tags":"+news&~secret"`)
	owner.Create(`"long_url":"https://example.com/shown","custom_hash":"mine","tags":["news","own"]`)
	hidden := []string{"bare", "both"}
	owner.Create(`"long_url":"https://example.com/hidden","custom_hash":"bare","tags":["else"]`)
	owner.Create(`"long_url":"https://example.com/hidden","custom_hash":"both","tags":["news","secret"],"note":"private"`)
	for _, hash := range append(hidden, "mine") {
		s.Visit(t, "GET", "/"+hash)
	}
	edited := owner.Must("PATCH", "/v3/urls?hashes=bare,both", `{"urls":[{"archived":true}]}`).Header.Get(response.HeaderBatchID)
	snapshot := func() string {
		var all strings.Builder
		for _, hash := range hidden {
			for _, path := range []string{"/v3/urls/", "/v3/stats/"} {
				all.WriteString(owner.Call("GET", path+hash, "").Body)
			}
			all.WriteString(owner.Call("GET", "/v3/urls/"+hash+"/history", "").Body)
		}
		return all.String()
	}
	before := snapshot()
	at := strings.ReplaceAll(s.SyncClock(), "+", "%2B")

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
		of := func(hash string) *httpapitest.Answer {
			a := bound.Call(call[0], strings.ReplaceAll(call[1], "HASH", hash), strings.ReplaceAll(call[2], "HASH", hash))
			a.Body = strings.ReplaceAll(a.Body, hash, "HASH")
			return a
		}
		want := of("none")
		for _, hash := range hidden {
			if got := of(hash); got.Status != want.Status || got.Body != want.Body {
				t.Errorf("%v of %s: %d %s\nof one that does not exist: %d %s", call, hash, got.Status, got.Body, want.Status, want.Body)
			}
		}
	}
	for path, want := range map[string]string{
		"/v3/urls": "mine", "/v3/urls?search=hidden": "", "/v3/urls?tags=~own": "", "/v3/urls?tags=news": "mine",
		"/v3/urls?order_by=clicks": "mine", "/v3/urls?order_by=hash": "mine", "/v3/urls?order_by=modified": "mine",
		"/v3/urls?search=example&order_by=-modified": "mine", "/v3/urls?at=" + at: "mine", "/v3/urls?search=private&at=" + at: "",
	} {
		if a := bound.Must("GET", path, ""); a.Hashes() != want || a.Page.TotalCount != int64(len(a.URLs)) {
			t.Errorf("%s: %s of %d, want %q", path, a.Hashes(), a.Page.TotalCount, want)
		}
	}
	for _, label := range []string{"secret", "else", "unknown"} {
		a := bound.Call("GET", "/v3/urls?tags="+label, "")
		a.Is(http.StatusNotFound, apierror.CodeTagNotFound)
		a.Has("There is no tag")
	}
	bound.Must("PATCH", "/v3/urls?tags=archived", `{"urls":[{"note":"x"}]}`)
	bound.Must("DELETE", "/v3/stats?tags=archived", "")
	bound.Must("DELETE", "/v3/urls?tags=archived", "")
	bound.Call("POST", "/v3/batches/"+edited+"/undo", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "what the owner sees", snapshot(), before)
}

func TestBoundKeysSeeAndChangeTheirLinks(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	bound := owner.WithKey(`"tags":"+news"`)
	owner.Create(`"long_url":"https://example.com/0","custom_hash":"else","tags":["else"]`)
	bound.Must("POST", "/v3/urls", `{"urls":[
		{"long_url":"https://example.com/1","custom_hash":"one","tags":["NEWS","first"]},
		{"long_url":"https://example.com/2","custom_hash":"two","tags":["news"]}]}`)
	httpapitest.Equal(t, "URLs of the key", bound.Counter("urls"), 2)
	httpapitest.Equal(t, "URLs of the month", bound.Counter("month_urls"), 2)
	httpapitest.Equal(t, "URLs of the owner", owner.Counter("urls"), 3)
	var labels []string
	for _, tag := range bound.Must("GET", "/v3/tags", "").Tags {
		labels = append(labels, strings.ToLower(tag.Label))
	}
	slices.Sort(labels)
	httpapitest.Equal(t, "tags", strings.Join(labels, " "), "first news")

	bound.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"edited","tags":["-first"]}]}`)
	bound.Must("PATCH", "/v3/urls?tags=news", `{"urls":[{"archived":true}]}`)
	httpapitest.Equal(t, "archived", bound.Read("two").Archived, true)
	for _, refused := range []struct{ method, path, body string }{
		{"PATCH", "/v3/urls/one", `{"urls":[{"tags":["-news"]}]}`},
		{"PATCH", "/v3/urls", `{"urls":[{"hash":"one","custom_hash":"three","tags":["-news"]}]}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3"}]}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3","tags":["newsletter"]}]}`},
	} {
		a := bound.Call(refused.method, refused.path, refused.body)
		if a.Status != http.StatusOK || a.URLs[0].Code() != apierror.CodeAccessDenied {
			t.Errorf("%v: %d %s", refused, a.Status, a.Body)
		}
	}
	owner.Create(`"long_url":"https://example.com/3","custom_hash":"three"`) // the refused renaming left no claim

	deleted := bound.Must("DELETE", "/v3/urls?hashes=one,two", "").Header.Get(response.HeaderBatchID)
	httpapitest.Equal(t, "URLs after the deletion", bound.Counter("urls"), 0)
	bound.Must("POST", "/v3/batches/"+deleted+"/undo", "")
	httpapitest.Equal(t, "URLs after the undo", bound.Counter("urls"), 2)
	owner.Must("PATCH", "/v3/tags/news", `{"label":"other"}`)
	httpapitest.Equal(t, "URLs after the tag was renamed", bound.Counter("urls"), 0)
	bound.Call("GET", "/v3/urls/one", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	bound.Call("POST", "/v3/urls?disable_long_url_duplicates=1", httpapitest.Batch(1)).Is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestBoundKeysRepeatTheirOwnCallsOnly checks that a bound key does not get the answer to a call of
// another key by its Idempotency-Key.
func TestBoundKeysRepeatTheirOwnCallsOnly(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	bound := owner.WithKey(`"tags":"+news"`)
	const body = `{"urls":[{"long_url":"https://example.com/","tags":["news"]}]}`
	repeat := httpapitest.Header("Idempotency-Key", "k")
	first := owner.Must("POST", "/v3/urls", body, repeat).URLs[0].Hash
	own := bound.Must("POST", "/v3/urls", body, repeat).URLs[0].Hash
	if again := bound.Must("POST", "/v3/urls", body, repeat).URLs[0].Hash; own == first || again != own {
		t.Errorf("the owner made %s, the bound key %s and then %s", first, own, again)
	}
}

// TestLinksThatLeaveABound races edits of a bound key with an owner that takes the tag off. A link
// that has left is not changed any more: the event store decides.
func TestLinksThatLeaveABound(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	bound := owner.WithKey(`"tags":"+news"`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"raced","tags":["news"]`)
	var all, begun sync.WaitGroup
	begun.Add(4)
	for range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				a := bound.Call("PATCH", "/v3/urls/raced", `{"urls":[{"note":"`+strings.Repeat("x", i)+`"}]}`)
				if i == 0 {
					begun.Done()
				}
				if a.Status != http.StatusOK || a.URLs[0].Code() != apierror.CodeOK {
					return
				}
			}
		})
	}
	begun.Wait()
	owner.Must("PATCH", "/v3/urls/raced", `{"urls":[{"tags":["-news"]}]}`)
	all.Wait()
	history := owner.Must("GET", "/v3/urls/raced/history?limit=1000", "").Body
	if left := strings.LastIndex(history, "url.untagged.v1"); left < 0 ||
		strings.Contains(history[left:], "url.settings_changed.v1") {
		t.Errorf("the link was changed after it had left: %s", history)
	}
}
