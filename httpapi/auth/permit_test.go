package auth_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
	"linkledger/projections"
)

// manyURLs are more URLs than an operation changes at once.
const manyURLs = 3*httpapitest.OperationPortion + 5

// changing is a change of many URLs by the other node that has stopped after its first portion.
type changing struct {
	*browsertest.Site

	owner   *httpapitest.Client
	key     *httpapitest.Client // of the account
	keyID   string
	batch   string // of the calls that made the URLs
	barrier *httpapitest.Barrier
}

func newChanging(t *testing.T, urls int) *changing {
	t.Helper()
	s := &changing{barrier: httpapitest.NewBarrier()}
	s.Site = browsertest.NewSite(t, "", s.barrier.Adjust)
	s.owner = s.Client(t, "acme")
	item := `,{"long_url":"https://example.com/","note":"n","tags":["t"]}`
	for left := urls; left > 0; left -= 50 {
		s.owner.Must("POST", "/v3/urls", `{"urls":[`+strings.Repeat(item, min(left, 50))[1:]+`]}`)
	}
	s.batch = s.owner.Must("PATCH", "/v3/urls?tags=t", `{"urls":[{"note":"edited"}]}`).Header.Get(response.HeaderBatchID)
	added := s.owner.Must("POST", "/v3/keys", `{"name":"agent","expiration_date":"2026-05-14"}`).Keys[0]
	s.key, s.keyID = &httpapitest.Client{T: t, Handler: s.Server, Username: "acme", Key: added.Key}, added.ID
	return s
}

// changed is how many events have changed URLs so far.
func (s *changing) changed(t *testing.T) (n int) {
	t.Helper()
	s.CatchUp(t)
	if err := s.DB.NewRaw(`SELECT count(*) FROM linkledger.links WHERE account_id = ? AND (archived
		OR deleted_at IS NOT NULL OR note = 'n')`, s.owner.ID).Scan(httpapitest.WithTimeout(t), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestChangesStopWhenTheirCallerEnds ends the rights of a caller on one node, in each way, while a
// change of many URLs runs on another one. From the answer on nothing is changed any more.
func TestChangesStopWhenTheirCallerEnds(t *testing.T) {
	t.Parallel()
	type signedIn interface {
		Call(method, path, body string, changes ...httpapitest.With) *httpapitest.Answer
	}
	operations := map[string][3]string{
		"edit":   {"PATCH", "/v3/urls?tags=t", `{"urls":[{"archived":true}]}`},
		"delete": {"DELETE", "/v3/urls?tags=t", ""},
		"undo":   {"POST", "/v3/batches/BATCH/undo", ""},
	}
	byKey := func(_ *testing.T, s *changing) (signedIn, string) { return s.key.On(s.Node), "" }
	byPerson := func(t *testing.T, s *changing) (signedIn, string) {
		t.Helper()
		b, id := s.Member(t, s.owner, "ada", "owner")
		return b.Copy().On(s.Node), id
	}
	bySession := func(t *testing.T, s *changing) (signedIn, string) {
		t.Helper()
		b := s.Browser(t)
		started := b.Call("POST", "/v3/sessions", "", func(r *http.Request) { r.SetBasicAuth("acme", s.key.Key) })
		return b.Copy().On(s.Node), started.Sessions[0].ID
	}
	for name, tc := range map[string]struct {
		operation string
		by        func(*testing.T, *changing) (signedIn, string)
		end       func(t *testing.T, s *changing, id string)
		details   string
	}{
		"key revoked during an edit": {"edit", byKey, revoked, "has been revoked"},
		"key revoked in a deletion":  {"delete", byKey, revoked, "has been revoked"},
		"key revoked during an undo": {"undo", byKey, revoked, "has been revoked"},
		"key narrowed": {"edit", byKey, func(_ *testing.T, s *changing, _ string) {
			s.owner.Must("PATCH", "/v3/keys/"+s.keyID, `{"scopes":["links:read"]}`)
		}, "may do less"},
		"key bound": {"edit", byKey, func(_ *testing.T, s *changing, _ string) {
			s.owner.Must("PATCH", "/v3/keys/"+s.keyID, `{"tags":"+other"}`)
		}, "may do less"},
		"key for other networks": {"edit", byKey, func(_ *testing.T, s *changing, _ string) {
			s.owner.Must("PATCH", "/v3/keys/"+s.keyID, `{"networks":["198.51.100.0/24"]}`)
		}, "from this address"},
		"key over": {"edit", byKey, func(t *testing.T, s *changing, _ string) {
			t.Helper()
			s.SetTime(t, "2026-05-15T00:00:00Z")
		}, "has expired"},
		"key rotated": {"edit", byKey, func(t *testing.T, s *changing, _ string) {
			t.Helper()
			s.account(t, func(r domain.Request) (accounts.Outcome, error) {
				return s.Accounts.RotateKey(httpapitest.WithTimeout(t), r, "acme")
			})
		}, "has been revoked"},
		"account deactivated": {"edit", byKey, func(t *testing.T, s *changing, _ string) {
			t.Helper()
			s.account(t, func(r domain.Request) (accounts.Outcome, error) {
				return s.Accounts.Deactivate(httpapitest.WithTimeout(t), r, "acme")
			})
		}, "not active"},
		"member removed": {"edit", byPerson, func(_ *testing.T, s *changing, id string) {
			s.owner.Must("DELETE", "/v3/members/"+id, "")
		}, "session of this call has ended"},
		"member lowered": {"undo", byPerson, func(_ *testing.T, s *changing, id string) {
			s.owner.Must("PUT", "/v3/members", `{"id":"`+id+`","role":"viewer"}`)
		}, "session of this call has ended"},
		"person erased": {"edit", byPerson, func(t *testing.T, s *changing, id string) {
			t.Helper()
			s.Erase(t, id)
		}, "session of this call has ended"},
		"session ended": {"delete", bySession, func(_ *testing.T, s *changing, id string) {
			s.owner.Must("DELETE", "/v3/sessions/"+id, "")
		}, "session of this call has ended"},
		"key of a session revoked": {"edit", bySession, revoked, "session of this call has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newChanging(t, manyURLs)
			by, id := tc.by(t, s)
			do := operations[tc.operation]
			s.barrier.Closed.Store(true)
			answered := make(chan *httpapitest.Answer)
			go func() { answered <- by.Call(do[0], strings.ReplaceAll(do[1], "BATCH", s.batch), do[2]) }()
			<-s.barrier.Arrived
			tc.end(t, s, id)
			before := s.changed(t)
			close(s.barrier.Open)
			a := <-answered
			a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
			a.Has(tc.details)
			a.Has("it has changed 25 URLs")
			if before != httpapitest.OperationPortion || s.changed(t) != before || a.Header.Get(response.HeaderBatchID) == "" {
				t.Errorf("%d URLs were changed at the answer, %d in the end, by %v", before, s.changed(t), a.Header)
			}
		})
	}
}

func revoked(_ *testing.T, s *changing, _ string) { s.owner.Must("DELETE", "/v3/keys/"+s.keyID, "") }

// account changes the account as an operator does, and waits until the other node knows it.
func (s *changing) account(t *testing.T, change func(domain.Request) (accounts.Outcome, error)) {
	t.Helper()
	outcome, err := change(domain.Request{Operator: true, Command: uuid.New()})
	if err == nil {
		err = s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, outcome.Position.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	for ctx := httpapitest.WithTimeout(t); s.key.On(s.Node).Call("GET", "/v3/domains", "").Status == http.StatusOK; {
		if ctx.Err() != nil {
			t.Fatal("the other node never knows it")
		}
	}
}

// TestSlowCallsEndWithTheirKey revokes a key while a call with it is still being sent.
func TestSlowCallsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	owner := s.Client(t, "owner")
	owner.Create(`"long_url":"https://example.com/","custom_hash":"old"`)
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"new"}]}`},
		{"PATCH", "/v3/urls/old", `{"urls":[{"note":"x"}]}`},
		{"POST", "/v3/tags", `{"label":"new"}`},
	} {
		added := owner.Must("POST", "/v3/keys", `{"name":"slow"}`).Keys[0]
		slow := &httpapitest.Client{T: t, Handler: s.Node, Username: "owner", Key: added.Key}
		body, sending := io.Pipe()
		answered := make(chan *httpapitest.Answer)
		go func() {
			answered <- slow.Call(call.method, call.path, call.body, func(r *http.Request) { r.Body = body })
		}()
		if _, err := io.WriteString(sending, call.body[:5]); err != nil { // it is read after the login
			t.Fatal(err)
		}
		owner.Must("DELETE", "/v3/keys/"+added.ID, "")
		if _, err := io.WriteString(sending, call.body[5:]); err != nil {
			t.Fatal(err)
		}
		if err := sending.Close(); err != nil {
			t.Fatal(err)
		}
		a := <-answered
		if len(a.URLs) == 1 {
			a.URLs[0].Failed(t, apierror.CodeAccessDenied, "has been revoked")
		} else {
			a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
		}
	}
	owner.Call("GET", "/v3/urls/new", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "note", owner.Read("old").Note, "")
	httpapitest.Equal(t, "tags", len(owner.Must("GET", "/v3/tags", "").Tags), 0)
}

// TestNothingIsChangedAfterARevocation revokes a key while calls with it change many URLs on two
// nodes, without stopping them, and counts the URLs at the answer and in the end.
func TestNothingIsChangedAfterARevocation(t *testing.T) {
	t.Parallel()
	const urls = 2000 // it takes longer to change them than to revoke the key
	s := newChanging(t, urls)
	done := make(chan *httpapitest.Answer)
	for i, node := range []http.Handler{s.Server, s.Node} {
		go func() {
			var last *httpapitest.Answer
			for round := 0; round < 1000; round++ {
				body := `{"urls":[{"archived":` + []string{"true", "false"}[(round+i)%2] + `}]}`
				if last = s.key.On(node).Call("PATCH", "/v3/urls?tags=t", body); last.Status != http.StatusOK {
					break
				}
			}
			done <- last
		}()
	}
	events := func() (n int) {
		t.Helper()
		head, err := s.Store.Head(httpapitest.WithTimeout(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Store.ReadLog(httpapitest.WithTimeout(t), eventstore.Position{}, head, func(all []eventstore.Recorded) error {
			for _, e := range all {
				if e.Type == "url.settings_changed.v1" {
					n++
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for ctx := httpapitest.WithTimeout(t); events() < urls+2*httpapitest.OperationPortion; {
		if ctx.Err() != nil {
			t.Fatal(context.Cause(ctx))
		}
	}
	began := time.Now()
	revoked(t, s, "")
	took, atAnswer := time.Since(began), events()
	for range 2 {
		if a := <-done; a.Code() != apierror.CodeAccessDenied && a.Code() != apierror.CodeInvalidKey {
			t.Errorf("the calls end with %d %s", a.Status, a.Body)
		}
	}
	if after := events(); after != atAnswer {
		t.Errorf("%d changes at the answer, %d in the end", atAnswer, after)
	}
	t.Logf("the answer took %s; %d changes before it, none after it", took.Round(time.Millisecond), atAnswer)
}
