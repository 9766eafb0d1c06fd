package webhooks_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// TestEveryKind makes a change of each kind, and checks what a webhook gets.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	deliver(t, s)
	owner := s.Client(t, "owner")
	r := newReceiver(t, owner, "")
	owner.Create(`"long_url":"https://example.com/a","custom_hash":"one","note":"n","tags":["News"]`)
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"long_url":"https://example.com/b"}]}`)
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"custom_hash":"two"}]}`)
	owner.Must("PATCH", "/v3/tags/news", `{"label":"Old"}`)
	s.Visit(t, "GET", "/two")
	all := r.awaitN(6) // the click may wait for others; the next events are later
	owner.Must("DELETE", "/v3/stats/two", "")
	owner.Must("DELETE", "/v3/urls/two", "")
	owner.Must("POST", "/v3/urls/two/restore", "")
	owner.Must("DELETE", "/v3/tags/old", "")
	all = r.awaitN(len(all) + 4)
	byKind := map[string]got{}
	for _, g := range all {
		byKind[g.Type] = g
		if g.Data.Account != owner.ID || g.Data.Position == 0 || g.id == "" || g.Timestamp.IsZero() {
			t.Errorf("%s", g.body)
		}
	}
	for _, kind := range strings.Fields("link.created link.changed link.renamed link.deleted link.restored " +
		"tag.created tag.renamed tag.deleted stats.reset click") {
		if _, ok := byKind[kind]; !ok {
			t.Errorf("there is no %s among %s", kind, kinds(all))
		}
	}
	created := byKind["link.created"].Data
	if u := created.URL; u.Hash != "one" || u.ShortURL != "sho.rt/one" || u.LongURL != "https://example.com/a" || u.Note != "n" ||
		strings.Join(u.Tags, " ") != "News" || created.Former != nil || created.Actor.Kind != "account" ||
		created.Actor.Via != "api" || created.Batch == "" || created.Request == "" {
		t.Errorf("created: %s", byKind["link.created"].body)
	}
	if d := byKind["link.changed"].Data; d.URL.LongURL != "https://example.com/b" || d.Former.LongURL != "https://example.com/a" {
		t.Errorf("changed: %s", byKind["link.changed"].body)
	}
	if d := byKind["link.renamed"].Data; d.URL.Hash != "two" || d.Former.Hash != "one" {
		t.Errorf("renamed: %s", byKind["link.renamed"].body)
	}
	if d := byKind["tag.renamed"].Data; d.Tag.Label != "Old" || d.Tag.Former != "News" {
		t.Errorf("renamed tag: %s", byKind["tag.renamed"].body)
	}
	if d := byKind["tag.deleted"].Data; d.Tag.Label != "Old" {
		t.Errorf("deleted tag: %s", byKind["tag.deleted"].body)
	}
	if c := byKind["click"].Data.Clicks; len(c) != 1 || c[0].Hash != "two" || c[0].LongURL != "https://example.com/b" || c[0].Visitor == "" {
		t.Errorf("click: %s", byKind["click"].body)
	}
	if d := byKind["link.deleted"].Data; strings.Join(d.URL.Tags, " ") != "Old" {
		t.Errorf("deleted: %s", byKind["link.deleted"].body)
	}
}

// TestBatchesUndoAndLimits checks the events of a batch, of its undo, and of a link whose clicks are used up.
func TestBatchesUndoAndLimits(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	deliver(t, s)
	owner := s.Client(t, "owner")
	r := newReceiver(t, owner, `"kinds":["link.created","link.deleted","limit.reached"]`)
	made := owner.Must("POST", "/v3/urls", httpapitest.Batch(50))
	all := r.awaitN(50)
	owner.Undo(all[0].Data.Batch)
	all = r.awaitN(100)
	seen := map[string]bool{}
	for _, g := range all {
		seen[g.Type+" "+g.Data.URL.Hash] = true
	}
	for _, u := range made.URLs {
		if !seen["link.created "+u.Hash] || !seen["link.deleted "+u.Hash] {
			t.Errorf("%s was not created and deleted", u.Hash)
		}
	}
	owner.Create(`"long_url":"https://example.com/","custom_hash":"few","max_clicks":2`)
	for range 2 {
		s.Visit(t, "GET", "/few")
	}
	all = r.awaitN(102)
	httpapitest.Equal(t, "last", kinds(all[100:]), "link.created limit.reached")
}

// TestFilters checks that a webhook gets what its terms say, and nothing else.
func TestFilters(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	deliver(t, s)
	owner, other := s.Client(t, "owner"), s.Client(t, "other")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	tagged := newReceiver(t, owner, `"tags":"news&~old"`)
	about := newReceiver(t, owner, `"urls":["one"]`)
	clicks := newReceiver(t, owner, `"kinds":["click"],"format":"tinycc"`)
	all := newReceiver(t, owner, `"kinds":["link.created","link.changed","link.renamed"]`)
	other.Create(`"long_url":"https://example.com/","custom_hash":"foreign","tags":["news"]`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"two","tags":["news"]`)
	owner.Must("PATCH", "/v3/urls/two", `{"urls":[{"tags":["+old"]}]}`)     // it leaves the expression
	owner.Must("PATCH", "/v3/urls/two", `{"urls":[{"note":"unseen"}]}`)     // outside of it
	owner.Must("PATCH", "/v3/urls/one", `{"urls":[{"custom_hash":"uno"}]}`) // the link stays the same
	s.Visit(t, "GET", "/uno")
	httpapitest.Equal(t, "all", sortedKinds(all.awaitN(4)), "link.changed link.changed link.created link.renamed")
	click := clicks.awaitN(1)[0]
	for _, part := range []string{`"hash":"uno"`, `"domain":"sho.rt"`, `"redirect_url":"https://example.com/"`, `"ip":""`, `"user_agent":""`, `"referrer":""`, `"time":"`} {
		if !strings.Contains(click.body, part) {
			t.Errorf("there is no %s in %s", part, click.body)
		}
	}
	httpapitest.Equal(t, "tagged", kinds(tagged.awaitN(2)), "link.created link.changed")
	httpapitest.Equal(t, "about one", sortedKinds(about.awaitN(2)), "click link.renamed")
	owner.Must("PATCH", "/v3/webhooks/"+tagged.webhook.ID, `{"tags":"","kinds":["tag.created"]}`)
	owner.Must("POST", "/v3/tags", `{"label":"fresh"}`)
	httpapitest.Equal(t, "after the change", kinds(tagged.awaitN(3)), "link.created link.changed tag.created")
}

// TestFailedDeliveries checks the list of deliveries, a test delivery, redelivery, and the end of a webhook that is gone.
func TestFailedDeliveries(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	deliver(t, s)
	owner := s.Client(t, "owner")
	r := newReceiver(t, owner, "")
	path := "/v3/webhooks/" + r.webhook.ID
	if a := owner.Must("POST", path+"/test", ""); !strings.Contains(a.Body, `"delivery":{"delivered":true,"status":200,"answer":"answer of the receiver"}`) {
		t.Errorf("test: %s", a.Body)
	}
	httpapitest.Equal(t, "test", kinds(r.awaitN(1)), "test")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	first := r.awaitN(2)[1]
	delivered := awaitDelivered(t, owner, path, "link.created")
	if delivered.ID != first.id || delivered.Type != "link.created" || delivered.Attempts != 1 || delivered.Status != 200 ||
		delivered.Answer != "answer of the receiver" || delivered.LastTry == nil {
		t.Errorf("%+v", delivered)
	}
	httpapitest.Equal(t, "again", owner.Must("POST", path+"/redeliver", `{"id":"`+first.id+`"}`).Redelivered, 1)
	if again := r.awaitN(3)[2]; again.id != first.id || again.body != first.body {
		t.Errorf("the repeat differs: %+v, %+v", again, first)
	}
	r.mu.Lock()
	r.status = func(got) int { return http.StatusGone }
	r.mu.Unlock()
	owner.Must("DELETE", "/v3/urls/one", "")
	r.awaitN(4)
	awaitSuspended(t, owner, path)
	owner.Create(`"long_url":"https://example.com/"`) // while suspended, so the webhook does not get it
	r.mu.Lock()
	r.status = nil
	r.mu.Unlock()
	owner.Must("POST", path+"/resume", "")
	httpapitest.Equal(t, "after the resumption", kinds(r.awaitN(5)[4:]), "link.deleted")
	awaitDelivered(t, owner, path, "link.deleted")
	owner.Must("POST", path+"/redeliver", `{"since":"2026-01-01T00:00:00Z"}`)
	r.awaitN(7)
	for body, details := range map[string]string{
		`{}`: "name one of", `{"id":"x"}`: "id must be", `{"since":"x"}`: "since must be", `{"failed":false}`: "name one of",
	} {
		a := owner.Call("POST", path+"/redeliver", body)
		a.Is(http.StatusBadRequest, apierror.CodeWrongInput)
		a.Has(details)
	}
	owner.Call("GET", path+"/deliveries?state=none", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
}
