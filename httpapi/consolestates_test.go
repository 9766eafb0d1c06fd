package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections"
	"linkledger/queries/accountlist"
)

// TestPagesWithoutAnIssuer opens pages of a service at which no people sign in, which signs no heads, and whose plans
// have limits.
func TestPagesWithoutAnIssuer(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) {
		cfg.Prover, cfg.Plans = nil, map[string]domain.Plan{"free": {URLs: 100, MonthURLs: 200, DayCalls: 1000}}
	})
	pageBranches.watchHandler(t, s.handler)
	b := &browser{t, s.handler, make(map[string]*http.Cookie)}
	if body := b.shows("/console/sign-in", "API key"); strings.Contains(body, "organisation") {
		t.Error("people can sign in at no issuer")
	}
	b.signInBy(s.client(t, "acme"))
	b.shows("/console/account", "0 of 100", "0 of 200")
	if a := b.call("GET", "/console/proofs", ""); a.status != http.StatusBadRequest || strings.Contains(a.body, "Check a proof") {
		t.Errorf("proofs without a key: %d\n%s", a.status, a.body)
	}
}

// act edits a link as no key and no person does, such as a version of before that recorded neither.
func (s *stack) act(t *testing.T, owner *client, hash, batch, note string) {
	t.Helper()
	r := domain.Request{Account: owner.id, Batch: batch, Command: uuid.New()}
	done := s.commands.EditURLs(withTimeout(t), r, []commands.EditURL{{Ref: linkwrite.Ref{Hash: hash}, Note: &note}})
	if done.Items[0].Err != nil {
		t.Fatal(done.Items[0].Err)
	}
	for _, of := range []string{projections.History, projections.Activity} {
		if err := projections.Await(withTimeout(t), s.db, s.store, of, done.Items[0].Position); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesOfRareStates opens pages in states that the tests of what people do leave out.
func TestPagesOfRareStates(t *testing.T) {
	t.Parallel()
	s := newSite(t, "staff=acme:editor")
	owner := s.client(t, "acme")
	b := s.browser(t)
	b.signInBy(owner)
	owner.create(`"long_url":"https://example.com/","custom_hash":"full","note":"n","tags":["news"]`)
	owner.must("PATCH", "/v3/urls/full", `{"urls":[{"ping":true,"email_stats":true,"protected":true,"archived":true,
		"expiration_date":"2999-12-31","max_clicks":10}]}`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"bare"`)
	owner.create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.must("DELETE", "/v3/stats/bare", "")
	s.act(t, owner, "bare", "", "no batch")
	s.act(t, owner, "bare", uuid.NewString(), "no key")
	b.shows("/console/links/full", `name="protected" value="1" checked`, `name="archived" value="1" checked`)
	b.shows("/console/links/bare", "no batch", "stats reset", "the whole call")
	b.shows("/console/links?order_by=modified", `<option value="modified" selected>`)
	b.shows("/console/activity", "the account")
	b.shows("/console/activity?via=api", `<option value="api" selected>`)
	b.shows("/console/activity?from=2030-01-01", "No call matches")
	owner.must("POST", "/v3/keys", `{"name":"brief","expiration_date":"2999-01-31"}`)
	b.shows("/console/keys", "2999-01-31")

	owner.must("DELETE", "/v3/urls/gone", "")
	auditor, _ := s.member(t, owner, "audrey", "auditor")
	if body := auditor.shows("/console/links/gone", "This link was deleted on"); strings.Contains(body, "Restore it") {
		t.Error("an auditor may restore")
	}
	if body := auditor.shows("/console/deleted", "gone"); strings.Contains(body, "Restore") {
		t.Error("an auditor may restore")
	}
	owner.must("POST", "/v3/tags", `{"label":"later"}`)
	if body := auditor.shows("/console/tags", "later"); strings.Contains(body, "Rename") {
		t.Error("an auditor may rename tags")
	}
	s.signIn(t, openidtest.Ada) // whose group has a role
	nameless, id := s.signIn(t, openidtest.Person{Subject: "nameless"})
	owner.must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	nameless.must("PATCH", "/v3/session", `{"account":"acme"}`)
	s.browser(t).signInBy(owner.withKey(`"name":"named"`))
	b.shows("/console/account", "by the group staff", "<td>"+id+"</td>", "key named")
	bound := s.browser(t)
	bound.signInBy(owner.withKey(`"name":"bound","tags":"+news"`))
	if body := bound.shows("/console/links", "full"); strings.Contains(body, "/console/deleted") {
		t.Error("a bound key may list deleted links")
	}
	bound.shows("/console/tags", "news")
	operator := s.browser(t)
	operator.leads(s.signInLink(t, accountlist.NewSession{Operator: true}), nil, "/console")
	operator.shows("/console/account", "The session has no account", "You are an operator", "http://127.0.0.1:8081/console",
		"linkledger console link --operator --base-url http://127.0.0.1:8081")
	for path, want := range map[string]string{"/console": "/console/account", "/console/links": "/console/account"} {
		if a := operator.call("GET", path, ""); a.header.Get("Location") != want {
			t.Errorf("%s leads an operator to %d %q; want %q", path, a.status, a.header.Get("Location"), want)
		}
	}

	past := url.QueryEscape(s.syncClock())
	b.signInBy(owner)
	b.shows("/console/links/full?at="+past, "2999-12-31", "<dt>Protected</dt><dd>yes", "<dt>Archived</dt><dd>yes", "<dt>Most clicks</dt><dd>10")
	b.shows("/console/links/bare?at="+past, "<dt>Tags</dt><dd>none", "<dt>Most clicks</dt><dd>no limit")
	b.shows("/console/account?at="+past, "The account as it was at")
	if a := b.call("GET", "/console/account?at=1999-01-01T00:00", ""); a.status < 400 || !strings.Contains(a.body, `role="alert"`) ||
		!strings.Contains(a.body, "acme") {
		t.Errorf("an account before it was opened: %d\n%s", a.status, a.body)
	}
}

// TestPagesOfProofs checks a proof of more events than a page shows, and one of another log with the same key.
func TestPagesOfProofs(t *testing.T) {
	t.Parallel()
	s, other := newSite(t, ""), newStack(t)
	owner, foreign := s.client(t, "acme"), other.client(t, "acme")
	for _, of := range []*client{owner, foreign} {
		of.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	}
	for i := range 60 {
		owner.must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	b := s.browser(t)
	b.signInBy(owner)
	proven := owner.must("GET", "/v3/urls/one/proof", "").Proof.File
	if checked := b.upload(proven); !strings.Contains(checked.body, "The file proves") {
		t.Errorf("a long proof shows\n%s", checked.body)
	}
	proven = foreign.must("GET", "/v3/urls/one/proof", "").Proof.File
	if checked := b.upload(proven); !strings.Contains(checked.body, "The proof holds") ||
		!strings.Contains(checked.body, "The log does not begin with the events") {
		t.Errorf("a proof of another log shows\n%s", checked.body)
	}
}
