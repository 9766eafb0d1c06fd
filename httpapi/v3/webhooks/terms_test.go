package webhooks_test

import (
	"net/http"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
)

// awaitDelivered waits until the newest delivery of a webhook is of a type and delivered, and returns it.
func awaitDelivered(t *testing.T, c *httpapitest.Client, path, kind string) (newest contract.Delivery) {
	t.Helper()
	eventually(t, kind+" is delivered", func() bool {
		all := c.Must("GET", path+"/deliveries", "").Deliveries
		if len(all) > 0 {
			newest = all[0]
		}
		return newest.Type == kind && newest.State == "delivered"
	})
	return newest
}

// awaitSuspended waits until a webhook is suspended because it is gone.
func awaitSuspended(t *testing.T, c *httpapitest.Client, path string) {
	t.Helper()
	eventually(t, "the webhook is suspended", func() bool {
		w := c.Must("GET", path, "").Webhooks[0]
		if w.Suspended != nil {
			httpapitest.Equal(t, "reason", *w.Suspended, "it answered 410, which means that it is gone")
		}
		return w.Suspended != nil
	})
}

// TestRefusedTerms checks the refusals of wrong parameters.
func TestRefusedTerms(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	const url = `"url":"https://example.com/hook"`
	w := owner.Must("POST", "/v3/webhooks", `{`+url+`}`).Webhooks[0]
	for fields, details := range map[string]string{
		`"url":""`: "url: it must be", `"url":"ftp://example.com/"`: "url: it must be", `"url":"/x"`: "url: it must be",
		`"url":"https://user:secret@example.com/"`: "user name and password", `"url":"https://example.com/#x"`: "after #",
		`"url":"https://example.com/` + strings.Repeat("x", 2048) + `"`: "2048 bytes",
		url + `,"kinds":["link.create"]`:                                `no kind "link.create"`,
		url + `,"tags":"("`:                                             "tags: cannot be read",
		url + `,"tags":"visited"`:                                       "leave out visited",
		url + `,"format":"xml"`:                                         `no format "xml"`,
		url + `,"format":"tinycc"`:                                      "format of clicks",
	} {
		for _, call := range [][2]string{{"POST", "/v3/webhooks"}, {"PATCH", "/v3/webhooks/" + w.ID}} {
			a := owner.Call(call[0], call[1], `{`+fields+`}`)
			a.Is(http.StatusBadRequest, apierror.CodeInvalidWebhook)
			a.Has(details)
		}
	}
	owner.Call("POST", "/v3/webhooks", `{`+url+`,"urls":["none"]}`).Is(http.StatusNotFound, apierror.CodeURLNotFound)
	owner.Call("POST", "/v3/webhooks", `{`+url+`,"kinds":"click"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	for range 99 {
		owner.Must("POST", "/v3/webhooks", `{`+url+`}`)
	}
	a := owner.Call("POST", "/v3/webhooks", `{`+url+`}`)
	a.Is(http.StatusBadRequest, apierror.CodeInvalidWebhook)
	a.Has("at most 100 webhooks")
}

// TestSecrets checks that a secret is shown once, that it can be rotated with an overlap, and that no event has it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	deliver(t, s)
	owner := s.Client(t, "owner")
	r := newReceiver(t, owner, "")
	path := "/v3/webhooks/" + r.webhook.ID
	for _, call := range [][2]string{{"GET", "/v3/webhooks"}, {"GET", path}, {"PATCH", path}} {
		body := ""
		if call[0] == "PATCH" {
			body = `{"kinds":["link.created"]}`
		}
		if a := owner.Must(call[0], call[1], body); strings.Contains(a.Body, "whsec_") || strings.Contains(a.Body, "whsk_") ||
			!strings.Contains(a.Body, r.webhook.PublicKey) {
			t.Errorf("%v shows %s", call, a.Body)
		}
	}
	former := r.webhook
	rotated := owner.Must("POST", path+"/rotate", "").Webhooks[0]
	if rotated.Secret == former.Secret || rotated.PublicKey == former.PublicKey || !strings.HasPrefix(rotated.Secret, "whsec_") {
		t.Errorf("rotated: %+v", rotated)
	}
	owner.Create(`"long_url":"https://example.com/"`) // verified by the former secret
	g := r.awaitN(1)[0]
	httpapitest.Equal(t, "signatures", len(strings.Fields(g.signature)), 4)
	r.mu.Lock()
	r.webhook = rotated
	r.mu.Unlock()
	owner.Create(`"long_url":"https://example.com/"`)
	r.awaitN(2)
	recorded, err := s.Store.Load(t.Context(), "webhooks-"+owner.ID)
	if err != nil || len(recorded) != 3 {
		t.Fatalf("%d events, %v", len(recorded), err)
	}
	for _, e := range recorded {
		for _, secret := range []string{"whsec_", "whsk_", r.URL, "hook\""} {
			if strings.Contains(string(e.Data), secret) {
				t.Errorf("%s has %s in plain text", e.Type, secret)
			}
		}
	}
}

// TestWhoMayUseWebhooks checks accounts, scopes, and keys that are bound to tags.
func TestWhoMayUseWebhooks(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner, other := s.Client(t, "owner"), s.Client(t, "other")
	const fields = `{"url":"https://example.com/hook","kinds":["link.created"]}`
	w := owner.Must("POST", "/v3/webhooks", fields).Webhooks[0]
	path := "/v3/webhooks/" + w.ID
	for _, call := range [][2]string{
		{"GET", path},
		{"PATCH", path},
		{"DELETE", path},
		{"POST", path + "/rotate"},
		{"POST", path + "/resume"},
		{"POST", path + "/suspend"},
		{"POST", path + "/test"},
		{"GET", path + "/deliveries"},
	} {
		body := ""
		if call[0] == "PATCH" {
			body = `{"kinds":["link.created"]}`
		}
		other.Call(call[0], call[1], body).Is(http.StatusNotFound, apierror.CodeInvalidResource)
	}
	other.Call("POST", path+"/redeliver", `{"failed":true}`).Is(http.StatusNotFound, apierror.CodeInvalidResource)
	httpapitest.Equal(t, "of another account", len(other.Must("GET", "/v3/webhooks", "").Webhooks), 0)
	owner.Create(`"long_url":"https://example.com/","tags":["news"]`)
	owner.WithKey(`"tags":"news"`).Call("GET", "/v3/webhooks", "").Is(http.StatusForbidden, apierror.CodeAccessDenied)
	if a := owner.WithKey(`"scopes":["webhooks:read"]`).Call("POST", "/v3/webhooks", fields); !a.Lacks("webhooks") {
		t.Errorf("with webhooks:read: %s", a.Body)
	}
	if a := owner.WithKey(`"scopes":["webhooks"]`).Call("POST", "/v3/webhooks", fields); !a.Lacks("links:read, history:read") {
		t.Errorf("without links:read: %s", a.Body)
	}
	reading := owner.WithKey(`"scopes":["webhooks","links:read","history:read"]`)
	reading.Must("POST", "/v3/webhooks", fields)
	if a := reading.Call("PATCH", path, `{"kinds":["click"]}`); !a.Lacks("stats:read") {
		t.Errorf("clicks without stats:read: %s", a.Body)
	}
	if a := reading.Call("POST", "/v3/webhooks", `{"url":"https://example.com/hook"}`); !a.Lacks("stats:read") {
		t.Errorf("all kinds without stats:read: %s", a.Body)
	}
	httpapitest.Equal(t, "removed", owner.Must("DELETE", path, "").Webhooks[0].ID, w.ID)
	owner.Call("GET", path, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
}

// TestRepeatsAndResets checks calls with the same Idempotency-Key, fields that are null, and unknown fields.
func TestRepeatsAndResets(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	repeat := httpapitest.Header("Idempotency-Key", "k")
	const fields = `{"url":"https://example.com/hook","kinds":["click"],"tags":"news","format":"tinycc"}`
	added := owner.Must("POST", "/v3/webhooks", fields, repeat).Webhooks[0]
	again := owner.Must("POST", "/v3/webhooks", fields, repeat).Webhooks[0]
	if again.ID != added.ID || added.Secret == "" || again.Secret != "" {
		t.Errorf("the repeat answers %+v after %+v", again, added)
	}
	path := "/v3/webhooks/" + added.ID
	owner.Must("PATCH", path, `{"format":null,"kinds":null,"tags":null,"urls":null}`)
	if w := owner.Must("GET", path, "").Webhooks[0]; w.Kinds != nil || w.Tags != nil || w.URLs != nil || w.Format != "" {
		t.Errorf("after null: %+v", w)
	}
	owner.Call("PATCH", path, `{"tag":"news"}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Must("DELETE", path, "")
	if gone := owner.Must("POST", "/v3/webhooks", fields, repeat).Webhooks[0]; gone.ID != added.ID || gone.Secret != "" {
		t.Errorf("the repeat after the removal answers %+v", gone)
	}
	if len(owner.Must("GET", "/v3/webhooks", "").Webhooks) != 0 {
		t.Error("a repeat has brought the webhook back")
	}
	clicks := owner.Must("POST", "/v3/webhooks", `{"url":"https://example.com/hook","kinds":["click"]}`).Webhooks[0]
	without := owner.WithKey(`"scopes":["webhooks","links:read","history:read"]`)
	if a := without.Call("PATCH", "/v3/webhooks/"+clicks.ID, `{"kinds":["link.created"],"url":"https://example.org/"}`); !a.Lacks("stats:read") {
		t.Errorf("without stats:read, the clicks that wait went to another address: %s", a.Body)
	}
	if a := without.Call("POST", "/v3/webhooks/"+clicks.ID+"/redeliver", `{"failed":true}`); !a.Lacks("stats:read") {
		t.Errorf("without stats:read: %s", a.Body)
	}
}
