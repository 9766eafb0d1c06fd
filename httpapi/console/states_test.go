package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"linkledger/httpapi/branchtest"
	"linkledger/httpapi/browsertest"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/projections"
	"linkledger/queries/accountlist"
)

// TestPagesWithoutAnIssuer opens pages of a service at which no people sign in, which signs no heads, and whose plans
// have limits.
func TestPagesWithoutAnIssuer(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.Prover, cfg.Plans = nil, map[string]domain.Plan{"free": {URLs: 100, MonthURLs: 200, DayCalls: 1000}}
	})
	branchtest.Watch(t, "owners", s.Server.Pages().Templates())
	b := browsertest.NewBrowser(t, s.Server)
	if body := b.Shows("/console/sign-in", "API key"); strings.Contains(body, "organisation") {
		t.Error("people can sign in at no issuer")
	}
	b.SignInBy(s.Client(t, "acme"))
	b.Shows("/console/account", "0 of 100", "0 of 200")
	if a := b.Call("GET", "/console/proofs", ""); a.Status != http.StatusBadRequest || strings.Contains(a.Body, "Check a proof") {
		t.Errorf("proofs without a key: %d\n%s", a.Status, a.Body)
	}
}

// act edits a link without a key and a person, like an older version that recorded neither.
func act(t *testing.T, s *httpapitest.Stack, owner *httpapitest.Client, hash, batch, note string) {
	t.Helper()
	r := domain.Request{Account: owner.ID, Batch: batch, Command: uuid.New()}
	done := s.Commands.EditURLs(httpapitest.WithTimeout(t), r, []commands.EditURL{{Ref: linkwrite.Ref{Hash: hash}, Note: &note}})
	if done.Items[0].Err != nil {
		t.Fatal(done.Items[0].Err)
	}
	for _, of := range []string{projections.History, projections.Activity} {
		if err := projections.Await(httpapitest.WithTimeout(t), s.DB, s.Store, of, done.Items[0].Position); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesOfRareStates opens pages in states that the tests of what people do leave out.
func TestPagesOfRareStates(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "staff=acme:editor")
	owner := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(owner)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"full","note":"n","tags":["news"]`)
	owner.Must("PATCH", "/v3/urls/full", `{"urls":[{"ping":true,"email_stats":true,"protected":true,"archived":true,
		"expiration_date":"2999-12-31","max_clicks":10}]}`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"bare"`)
	owner.Create(`"long_url":"https://example.com/","custom_hash":"gone"`)
	owner.Must("DELETE", "/v3/stats/bare", "")
	act(t, s.Stack, owner, "bare", "", "no batch")
	act(t, s.Stack, owner, "bare", uuid.NewString(), "no key")
	b.Shows("/console/links/full", `name="protected" value="1" checked`, `name="archived" value="1" checked`)
	b.Shows("/console/links/bare", "no batch", "stats reset", "the whole call")
	b.Shows("/console/links?order_by=modified", `<option value="modified" selected>`)
	b.Shows("/console/activity", "the account")
	b.Shows("/console/activity?via=api", `<option value="api" selected>`)
	b.Shows("/console/activity?from=2030-01-01", "No call matches")
	owner.Must("POST", "/v3/keys", `{"name":"brief","expiration_date":"2999-01-31"}`)
	b.Shows("/console/keys", "2999-01-31")

	owner.Must("DELETE", "/v3/urls/gone", "")
	auditor, _ := s.Member(t, owner, "audrey", "auditor")
	if body := auditor.Shows("/console/links/gone", "This link was deleted on"); strings.Contains(body, "Restore it") {
		t.Error("an auditor may restore")
	}
	if body := auditor.Shows("/console/deleted", "gone"); strings.Contains(body, "Restore") {
		t.Error("an auditor may restore")
	}
	owner.Must("POST", "/v3/tags", `{"label":"later"}`)
	if body := auditor.Shows("/console/tags", "later"); strings.Contains(body, "Rename") {
		t.Error("an auditor may rename tags")
	}
	s.SignIn(t, openidtest.Ada) // whose group has a role
	nameless, id := s.SignIn(t, openidtest.Person{Subject: "nameless"})
	owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
	nameless.Must("PATCH", "/v3/session", `{"account":"acme"}`)
	s.Browser(t).SignInBy(owner.WithKey(`"name":"named"`))
	b.Shows("/console/account", "by the group staff", "<td>"+id+"</td>", "key named")
	bound := s.Browser(t)
	bound.SignInBy(owner.WithKey(`"name":"bound","tags":"+news"`))
	if body := bound.Shows("/console/links", "full"); strings.Contains(body, "/console/deleted") {
		t.Error("a bound key may list deleted links")
	}
	bound.Shows("/console/tags", "news")
	operator := s.Browser(t)
	operator.Leads(s.SignInLink(t, accountlist.NewSession{Operator: true}), nil, "/console")
	operator.Shows("/console/account", "The session has no account", "You are an operator", "http://127.0.0.1:8081/console",
		"linkledger console link --operator --base-url http://127.0.0.1:8081")
	for path, want := range map[string]string{"/console": "/console/account", "/console/links": "/console/account"} {
		if a := operator.Call("GET", path, ""); a.Header.Get("Location") != want {
			t.Errorf("%s leads an operator to %d %q; want %q", path, a.Status, a.Header.Get("Location"), want)
		}
	}

	past := url.QueryEscape(s.SyncClock())
	b.SignInBy(owner)
	b.Shows("/console/links/full?at="+past, "2999-12-31", "<dt>Protected</dt><dd>yes", "<dt>Archived</dt><dd>yes", "<dt>Most clicks</dt><dd>10")
	b.Shows("/console/links/bare?at="+past, "<dt>Tags</dt><dd>none", "<dt>Most clicks</dt><dd>no limit")
	b.Shows("/console/account?at="+past, "The account as it was at")
	if a := b.Call("GET", "/console/account?at=1999-01-01T00:00", ""); a.Status < 400 || !strings.Contains(a.Body, `role="alert"`) ||
		!strings.Contains(a.Body, "acme") {
		t.Errorf("an account before it was opened: %d\n%s", a.Status, a.Body)
	}
}

// TestPagesOfProofs checks a proof of more events than a page shows, and one of another log with the same key.
func TestPagesOfProofs(t *testing.T) {
	t.Parallel()
	s, other := browsertest.NewSite(t, ""), httpapitest.New(t)
	owner, foreign := s.Client(t, "acme"), other.Client(t, "acme")
	for _, of := range []*httpapitest.Client{owner, foreign} {
		of.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	}
	for i := range 60 {
		owner.Must("PATCH", "/v3/urls/one", fmt.Sprintf(`{"urls":[{"max_clicks":%d}]}`, i+1))
	}
	b := s.Browser(t)
	b.SignInBy(owner)
	proven := owner.Must("GET", "/v3/urls/one/proof", "").Proof.File
	if checked := b.Upload(proven); !strings.Contains(checked.Body, "The file proves") {
		t.Errorf("a long proof shows\n%s", checked.Body)
	}
	proven = foreign.Must("GET", "/v3/urls/one/proof", "").Proof.File
	if checked := b.Upload(proven); !strings.Contains(checked.Body, "The proof holds") ||
		!strings.Contains(checked.Body, "The log does not begin with the events") {
		t.Errorf("a proof of another log shows\n%s", checked.Body)
	}
}
