package webhooks

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"linkledger/commands/domain"
	"linkledger/commands/webhooks"
	"linkledger/effects/webhooks/linkstate"
	"linkledger/events"
)

// TestSign compares the signature with the example of the specification of Standard Webhooks, and verifies the header
// with its library.
func TestSign(t *testing.T) {
	t.Parallel()
	target := events.WebhookTarget{
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Key: "whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
	}
	const body = `{"test": 2432232314}`
	header, err := sign(target, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	signatures := strings.Fields(header.Get("webhook-signature"))
	if len(signatures) != 2 || signatures[0] != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" || !strings.HasPrefix(signatures[1], "v1a,") ||
		header.Get("webhook-timestamp") != "1614265330" || header.Get("Content-Type") != "application/json" {
		t.Errorf("the header is %v", header)
	}
	verifier, err := standard.NewWebhook(target.Secret)
	if err == nil {
		err = verifier.VerifyIgnoringTimestamp([]byte(body), header)
	}
	if err != nil {
		t.Error(err)
	}
	target.FormerSecret, target.FormerKey = target.Secret, target.Key
	if header, err = sign(target, "id", time.Now(), nil); err != nil || len(strings.Fields(header.Get("webhook-signature"))) != 4 {
		t.Errorf("with former secrets: %v, %v", header, err)
	}
	target.Key = "odd"
	if _, err := sign(target, "id", time.Now(), nil); err == nil {
		t.Error("an odd key signs")
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{"", ""}, {" ok\n", "ok"}, {"a\x00b\x1b[2J\xff", "a b [2J"}, {strings.Repeat("é", 400), strings.Repeat("é", 250)},
	} {
		if got := shown([]byte(c.answer)); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.answer, got, c.want)
		}
	}
}

// TestWants checks which webhooks get an event about a link.
func TestWants(t *testing.T) {
	t.Parallel()
	link := func(id string, labels ...string) linkstate.State {
		return linkstate.State{Link: domain.Link{ID: id}, Labels: labels}
	}
	for name, c := range map[string]struct {
		webhook       webhooks.Webhook
		before, after linkstate.State
		want          bool
	}{
		"everything":      {webhooks.Webhook{}, linkstate.State{}, link("1"), true},
		"its kind":        {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Kinds: []string{"link.created"}}}, linkstate.State{}, link("1"), true},
		"another kind":    {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Kinds: []string{"click"}}}, linkstate.State{}, link("1"), false},
		"its tag":         {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "news"}}, linkstate.State{}, link("1", "NEWS"), true},
		"another tag":     {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "news"}}, linkstate.State{}, link("1", "old"), false},
		"it leaves a tag": {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "news"}}, link("1", "news"), link("1"), true},
		"new, without":    {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "~news"}}, linkstate.State{}, link("1", "news"), false},
		"unknown tags":    {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "("}}, linkstate.State{}, link("1", "news"), false},
		"its link":        {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Links: []events.WebhookLink{{ID: "1"}}}}, link("1"), link("1"), true},
		"another link":    {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Links: []events.WebhookLink{{ID: "2"}}}}, link("1"), link("1"), false},
		"suspended":       {webhooks.Webhook{Suspended: "gone"}, linkstate.State{}, link("1"), false},
	} {
		if got := newHook(c.webhook).wants("link.created", c.before, c.after); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWantsTags checks which webhooks get an event about a tag.
func TestWantsTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		webhook webhooks.Webhook
		want    bool
	}{
		"everything":   {webhooks.Webhook{}, true},
		"another kind": {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Kinds: []string{"click"}}}, false},
		"some tags":    {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "news"}}, false},
		"unknown tags": {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Tags: "("}}, false},
		"some links":   {webhooks.Webhook{WebhookTerms: events.WebhookTerms{Links: []events.WebhookLink{{ID: "1"}}}}, false},
		"suspended":    {webhooks.Webhook{Suspended: "gone"}, false},
	} {
		if got := newHook(c.webhook).wantsTags("tag.created"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestReceivers checks that the outbox keeps a webhook without its secrets.
func TestReceivers(t *testing.T) {
	t.Parallel()
	w := webhooks.Webhook{
		ID: "01935f6e-0000-7000-8000-0000000000f1", Account: "01935f6e-0000-7000-8000-00000000000a", Base: "https://sho.rt",
		WebhookTerms: events.WebhookTerms{Tags: "news"}, Sealed: &events.Sealed{Account: "a", Box: []byte("box")},
		Target: events.WebhookTarget{URL: "https://example.com/", Secret: "whsec_x"},
	}
	r, err := newHook(w).receiver()
	if err != nil || !r.Open || strings.Contains(string(r.Config), "whsec") || strings.Contains(string(r.Config), "example.com") {
		t.Fatalf("%+v, %v", r, err)
	}
	kept, err := webhookOf(r)
	if err != nil || kept.Tags != "news" || kept.Base != w.Base || string(kept.Sealed.Box) != "box" || kept.Target.URL != "" {
		t.Errorf("%+v, %v", kept, err)
	}
	r.Config = json.RawMessage("[")
	if _, err := webhookOf(r); err == nil {
		t.Error("a damaged configuration is read")
	}
}
