package httpapi_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi/openapitest"
	"linkledger/httpapi/response"
	"linkledger/queries"
)

// tenant is an account with everything that calls are about. Its links are "chosen", in a stream of its own, and
// "generated", in the stream of its hash.
type tenant struct {
	*httpapitest.Client

	t                 *testing.T
	s                 *browsertest.Site
	name              string
	chosen, generated string // hashes
	key, batch        string
	webhook           string
	member            *browsertest.Browser
	person            string
	at                string // a time at which all of it is there
}

func newTenant(t *testing.T, s *browsertest.Site, name string) *tenant {
	t.Helper()
	owner := s.Client(t, name)
	a := &tenant{Client: owner, t: t, s: s, name: name, chosen: name + "-one"}
	a.batch = owner.Must("POST", "/v3/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"`+a.chosen+`","tags":["t"],"note":"n"}]}`,
	).Header.Get(response.HeaderBatchID)
	a.generated = owner.Create(`"long_url":"https://example.com/2","tags":["t"],"max_clicks":9`).Hash
	a.key = owner.Must("POST", "/v3/keys", `{"name":"old"}`).Keys[0].ID
	a.webhook = owner.Must("POST", "/v3/webhooks", `{"url":"http://127.0.0.1:1/hook"}`).Webhooks[0].ID
	a.member, a.person = s.Member(t, owner, name, "owner")
	return a
}

// linkOf returns the id of a link of the account.
func (a *tenant) linkOf(hash string) string {
	a.t.Helper()
	link, err := queries.New(a.s.DB).LinkByHash(a.t.Context(), uuid.MustParse(a.ID), hash)
	if err != nil {
		a.t.Fatal(err)
	}
	return link.ID.String()
}

// unreadable appends events to a stream that this version cannot read: of an unknown type, and of a known type with
// other data.
func (a *tenant) unreadable(stream string) {
	a.t.Helper()
	known := events.URLRetargeted{}.EventType()
	switch {
	case strings.HasPrefix(stream, events.StreamTags):
		known = events.TagRenamed{}.EventType()
	case strings.HasPrefix(stream, events.StreamAccount):
		known = events.MemberSet{}.EventType()
	case strings.HasPrefix(stream, events.StreamUser):
		known = events.UserKnown{}.EventType()
	case strings.HasPrefix(stream, events.StreamWebhooks):
		known = events.WebhookResumed{}.EventType()
	}
	eventstoretest.Append(a.t, a.s.Events.URL(), stream, "future.v9", []byte(`{}`))
	eventstoretest.Append(a.t, a.s.Events.URL(), stream, known, []byte(`{"at":7}`))
	a.s.CatchUp(a.t)
}

// calls returns a call of every operation of the description, the reads first, and what ends rights or links last.
func (a *tenant) calls() [][3]string {
	var all [][3]string
	for _, hash := range []string{a.chosen, a.generated} {
		all = append(
			all,
			[3]string{"GET", "/" + hash, ""}, [3]string{"GET", "/" + hash + "/qr.png", ""},
			[3]string{"GET", "/v3/urls/" + hash, ""}, [3]string{"GET", "/v3/urls/" + hash + "?at=" + a.at, ""},
			[3]string{"GET", "/v3/urls/" + hash + "/dimensions", ""}, [3]string{"GET", "/v3/urls/" + hash + "/history", ""},
			[3]string{"GET", "/v3/urls/" + hash + "/proof", ""}, [3]string{"GET", "/v3/stats/" + hash, ""},
			[3]string{"PATCH", "/v3/urls/" + hash, `{"urls":[{"note":"m"}]}`},
			[3]string{"PATCH", "/v3/urls/" + hash, `{"urls":[{"tags":["+u"]}]}`},
			[3]string{"PATCH", "/v3/urls/" + hash, `{"urls":[{"custom_hash":"` + hash + `-new"}]}`},
			[3]string{"PATCH", "/v3/urls/" + hash + "-new", `{"urls":[{"custom_hash":"` + hash + `"}]}`},
			[3]string{"POST", "/v3/urls/" + hash + "/restore", `{"version":0}`},
			[3]string{"DELETE", "/v3/stats/" + hash, ""}, [3]string{"DELETE", "/v3/stats?hashes=" + hash, ""},
			[3]string{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"` + hash + `"}]}`},
			[3]string{"POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/","custom_hash":"` + hash + `"}]}`},
		)
	}
	all = append(all, [][3]string{
		{"GET", "/v3/account", ""},
		{"GET", "/v3/domains", ""},
		{"GET", "/v3/urls", ""},
		{"GET", "/v3/urls?tags=t", ""},
		{"GET", "/v3/urls?search=example", ""},
		{"GET", "/v3/urls?at=" + a.at, ""},
		{"GET", "/v3/account?at=" + a.at, ""},
		{"GET", "/v3/deleted", ""},
		{"GET", "/v3/batches/" + a.batch, ""},
		{"GET", "/v3/tags", ""},
		{"GET", "/v3/keys", ""},
		{"GET", "/v3/members", ""},
		{"GET", "/v3/sessions", ""},
		{"GET", "/v3/head", ""},
		{"GET", "/v3/activity", ""},
		{"GET", "/v3/openapi.json", ""},
		{"GET", "/v3/docs", ""},
		{"POST", "/v3/proofs", `{}`},
		{"GET", "/v3/session", ""},
		{"PATCH", "/v3/session", `{"account":"` + a.name + `"}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3"}]}`},
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/3","tags":["t"]}]}`},
		{"POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/2"}]}`},
		{"PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"o"}]}`},
		{"PATCH", "/v3/urls?hashes=" + a.chosen + "," + a.generated, `{"urls":[{"note":"p"}]}`},
		{"DELETE", "/v3/stats?tags=t", ""},
		{"POST", "/v3/tags", `{"label":"new"}`},
		{"PATCH", "/v3/tags/t", `{"label":"t2"}`},
		{"DELETE", "/v3/tags/t2", ""},
		{"POST", "/v3/keys", `{"name":"new"}`},
		{"POST", "/v3/keys", `{"name":"bound","tags":"~t"}`},
		{"PATCH", "/v3/keys/" + a.key, `{"name":"changed"}`},
		{"PATCH", "/v3/keys/" + a.key, `{"tags":"~t"}`},
		{"GET", "/v3/webhooks", ""},
		{"GET", "/v3/webhooks/" + a.webhook, ""},
		{"GET", "/v3/webhooks/" + a.webhook + "/deliveries", ""},
		{"POST", "/v3/webhooks", `{"url":"http://127.0.0.1:1/other"}`},
		{"PATCH", "/v3/webhooks/" + a.webhook, `{"kinds":["click"]}`},
		{"POST", "/v3/webhooks/" + a.webhook + "/rotate", ""},
		{"POST", "/v3/webhooks/" + a.webhook + "/suspend", ""},
		{"POST", "/v3/webhooks/" + a.webhook + "/resume", ""},
		{"POST", "/v3/webhooks/" + a.webhook + "/test", ""},
		{"POST", "/v3/webhooks/" + a.webhook + "/redeliver", `{"failed":true}`},
		{"DELETE", "/v3/webhooks/" + a.webhook, ""},
		{"PUT", "/v3/members", `{"id":"` + a.person + `","role":"viewer"}`},
		{"POST", "/v3/keys/" + a.key + "/undo?since=2026-01-01T00:00:00Z", ""},
		{"POST", "/v3/batches/" + a.batch + "/undo", ""},
		{"POST", "/v3/sessions", ""},
		{"DELETE", "/v3/sessions/" + uuid.NewString(), ""},
		{"DELETE", "/v3/urls/" + a.chosen, ""},
		{"DELETE", "/v3/urls/" + a.generated, ""},
		{"POST", "/v3/urls/" + a.chosen + "/restore", `{}`},
		{"POST", "/v3/batches/" + a.batch + "/undo", ""},
		{"POST", "/v3/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/"}]}`},
		{"DELETE", "/v3/urls?hashes=" + a.chosen, ""},
		{"DELETE", "/v3/urls?tags=t", ""},
		{"DELETE", "/v3/members/" + a.person, ""},
		{"DELETE", "/v3/keys/" + a.key, ""},
		{"DELETE", "/v3/session", ""},
	}...)
	return all
}

// TestNoCallFailsForUnreadableEvents makes every call of the description in an account that has events which this
// version cannot read, in each kind of stream. No call is answered 500, and what ends rights or links takes effect. Each
// event is logged once.
func TestNoCallFailsForUnreadableEvents(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "", func(cfg *httpapi.Config) {
		cfg.Plans = map[string]domain.Plan{"free": {URLs: 1000, MonthURLs: 1000, DayCalls: 100_000}}
	})
	stranger := s.Client(t, "stranger")
	tenants, streams := make(map[string]*tenant), make(map[string]string)
	for name, stream := range map[string]func(*tenant) string{
		"none":      func(*tenant) string { return "" },
		"link":      func(a *tenant) string { return events.LinkStream(a.linkOf(a.chosen)) },
		"generated": func(a *tenant) string { return events.LinkStream(a.linkOf(a.generated)) },
		"hash":      func(a *tenant) string { return events.StreamHash + a.chosen },
		"tags":      func(a *tenant) string { return events.StreamTags + a.ID },
		"account":   func(a *tenant) string { return events.StreamAccount + a.ID },
		"username":  func(a *tenant) string { return events.StreamUsername + a.name },
		"person":    func(a *tenant) string { return events.StreamUser + a.person },
		"webhooks":  func(a *tenant) string { return events.StreamWebhooks + a.ID },
		"quota":     func(a *tenant) string { return events.StreamQuota + a.ID },
		"usage":     func(a *tenant) string { return events.StreamUsage + a.ID },
		"allowance": func(a *tenant) string {
			return events.StreamAllowance + a.linkOf(a.generated)
		},
		"clicks": func(*tenant) string { return events.StreamClicks + "other" },
	} {
		a := newTenant(t, s, name)
		tenants[name], streams[name] = a, stream(a)
		if name != "none" {
			a.unreadable(streams[name])
		}
	}
	now := s.SyncClock()
	for name, a := range tenants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a.t, a.T, a.member.T, a.at = t, t, t, now
			a.isUnknownTo(stranger)
			a.keysDependOnlyOnTheAccount(name == "account")
			a.makesAllCalls(name == "none")
			want := 0
			if slices.Contains([]string{"link", "generated", "hash", "tags", "account", "quota", "allowance", "webhooks"}, name) {
				want = 1
			}
			if lines := s.Log.Matching("event cannot be read", "stream="+streams[name]+" ", "revision=", "type="); len(lines) != want {
				t.Errorf("logged %q; want %d lines", lines, want)
			}
		})
	}
}

// isUnknownTo checks that calls of another account about the links are refused: no account can cause a 503 by events of
// another.
func (a *tenant) isUnknownTo(stranger *httpapitest.Client) {
	a.t.Helper()
	other := *stranger
	other.T = a.t
	for _, hash := range []string{a.chosen, a.generated} {
		for _, call := range [][3]string{
			{"GET", "/v3/urls/" + hash, ""},
			{"GET", "/v3/urls/" + hash + "/history", ""},
			{"GET", "/v3/urls/" + hash + "/proof", ""},
			{"GET", "/v3/urls/" + hash + "?at=" + a.at, ""},
			{"PATCH", "/v3/urls/" + hash, `{"urls":[{"note":"m"}]}`},
			{"DELETE", "/v3/urls/" + hash, ""},
			{"DELETE", "/v3/stats/" + hash, ""},
			{"POST", "/v3/urls/" + hash + "/restore", "{}"},
		} {
			if got := other.Call(call[0], call[1], call[2]); got.Status != http.StatusNotFound {
				a.t.Errorf("%s %s by another account: %d %s", call[0], call[1], got.Status, got.Body)
			}
		}
		for _, path := range []string{"/v3/urls", "/v3/urls?disable_long_url_duplicates=1"} {
			got := other.Call("POST", path, `{"urls":[{"long_url":"https://example.com/","custom_hash":"`+hash+`"}]}`)
			got.URLs[0].Failed(a.t, apierror.CodeHashUnavailable, "already in use")
		}
	}
}

// keysDependOnlyOnTheAccount checks that keys can be made and changed if the account is known, in any state of tags and
// links.
func (a *tenant) keysDependOnlyOnTheAccount(unknown bool) {
	a.t.Helper()
	for _, call := range [][3]string{
		{"POST", "/v3/keys", `{"name":"another"}`}, {"PATCH", "/v3/keys/" + a.key, `{"name":"older"}`},
	} {
		if got := a.Call(call[0], call[1], call[2]); (got.Status == http.StatusOK) == unknown {
			a.t.Errorf("%s %s: %d %s", call[0], call[1], got.Status, got.Body)
		}
	}
}

// makesAllCalls makes each call twice, as the account and as a member. It checks that none is answered 500.
func (a *tenant) makesAllCalls(sound bool) {
	a.t.Helper()
	all, err := openapitest.Operations()
	if err != nil {
		a.t.Fatal(err)
	}
	operations := maps.Clone(all)
	for _, call := range a.calls() {
		method, path, body := call[0], call[1], call[2]
		bare, _, _ := strings.Cut(path, "?")
		for name := range operations {
			if of, route, _ := strings.Cut(name, " "); of == method && (route == openapitest.RouteOf(bare) ||
				route == strings.Replace(bare, a.chosen, ":hash", 1)) {
				delete(operations, name)
			}
		}
		made := map[string]*httpapitest.Answer{"the account": a.Call(method, path, body), "a member": a.member.Call(method, path, body)}
		for who, got := range made {
			unavailable := got.Status == http.StatusServiceUnavailable &&
				(sound || !strings.Contains(got.Body, "tell the operator"))
			if got.Status == http.StatusInternalServerError || unavailable {
				a.t.Errorf("%s %s %s by %s: %d %s", method, path, body, who, got.Status, got.Body)
			}
			for _, item := range got.URLs {
				if item.Error != nil && item.Code() == apierror.CodeUnknown &&
					(sound || !strings.Contains(item.Error.Details, "tell the operator")) {
					a.t.Errorf("%s %s %s by %s: item %+v", method, path, body, who, *item.Error)
				}
			}
		}
	}
	for name := range operations {
		a.t.Errorf("no call of %s", name)
	}
	for _, hash := range []string{a.chosen, a.generated} {
		if got := a.s.Visit(a.t, "GET", "/"+hash); got.Status == http.StatusFound {
			a.t.Errorf("the deleted link %s answers %d", hash, got.Status)
		}
	}
	if keys := a.Must("GET", "/v3/keys", "").Keys; slices.ContainsFunc(keys, func(k contract.AccountKey) bool { return k.ID == a.key }) {
		a.t.Errorf("the revoked key is in %+v", keys)
	}
	if members := a.Must("GET", "/v3/members", "").Members; len(members) > 0 {
		a.t.Errorf("the removed member is in %+v", members)
	}
}
