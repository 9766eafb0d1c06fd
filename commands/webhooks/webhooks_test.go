package webhooks_test

import (
	"crypto/ed25519"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/commands/webhooks"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

// office has the commands on the webhooks of one account.
type office struct {
	*webhooks.Webhooks
	t       *testing.T
	store   *eventstore.Store
	account string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	store := eventstoretest.New(t)
	return &office{
		Webhooks: webhooks.New(streams.New(streams.Config{
			Store: store, Keys: commandstest.NewSealingKeys(), Seal: true,
		})), t: t, store: store, account: uuid.NewString(),
	}
}

func (o *office) request() domain.Request {
	return domain.Request{Account: o.account, Command: uuid.New()}
}

// all returns the webhooks of the account.
func (o *office) all() webhooks.List {
	o.t.Helper()
	all, err := o.All(o.t.Context(), o.account)
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

// must returns the outcome of a command that succeeds.
func (o *office) must(outcome webhooks.Outcome, err error) webhooks.Webhook {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	return outcome.Webhook
}

var hook = webhooks.Spec{URL: commandstest.Ptr("https://example.com/hook")}

// TestLifeOfAWebhook makes each change of a webhook, and checks that the log has it.
func TestLifeOfAWebhook(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	added := o.must(o.Add(t.Context(), o.request(), webhooks.Spec{
		URL: hook.URL, Kinds: []string{webhooks.Click, webhooks.LinkCreated, webhooks.Click},
		Tags: commandstest.Ptr(" +news "), Links: []events.WebhookLink{{ID: "1", Hash: "pg"}},
	}, "https://sho.rt"))
	if strings.Join(added.Kinds, " ") != "link.created click" || added.Tags != "+news" || added.Base != "https://sho.rt" ||
		added.Account != o.account || len(added.Links) != 1 || added.CreatedAt.IsZero() {
		t.Errorf("added: %+v", added)
	}
	same := func(what string, is webhooks.Webhook) {
		t.Helper()
		found, err := o.Find(t.Context(), o.account, added.ID)
		if err != nil {
			t.Fatal(err)
		}
		is.Sealed, found.Sealed = nil, nil
		if !reflect.DeepEqual(is, found) {
			t.Errorf("%s: the command returned %+v, the log has %+v", what, is, found)
		}
	}
	same("added", added)
	changed := o.must(o.Change(t.Context(), o.request(), added.ID, webhooks.Spec{
		URL: commandstest.Ptr("http://example.com/other"), Kinds: []string{}, Tags: commandstest.Ptr(""),
		Links: []events.WebhookLink{},
	}))
	if changed.Target.URL != "http://example.com/other" || changed.Tags != "" || len(changed.Links) != 0 ||
		changed.Target.Secret != added.Target.Secret || !changed.Gets(webhooks.TagCreated) {
		t.Errorf("changed: %+v", changed)
	}
	same("changed", changed)
	rotated := o.must(o.Rotate(t.Context(), o.request(), added.ID))
	if rotated.Target.FormerSecret != added.Target.Secret || rotated.Target.FormerKey != added.Target.Key ||
		rotated.Target.Secret == added.Target.Secret || rotated.Target.FormerUntil.Before(time.Now().Add(23*time.Hour)) {
		t.Errorf("rotated: %+v", rotated.Target)
	}
	same("rotated", rotated)
	suspended := o.must(o.Suspend(t.Context(), o.request(), added.ID, "gone"))
	if suspended.Suspended != "gone" || suspended.SuspendedAt.IsZero() {
		t.Errorf("suspended: %+v", suspended)
	}
	if again := o.must(o.Suspend(t.Context(), o.request(), added.ID, "later")); again.Suspended != "gone" {
		t.Errorf("suspended again: %+v", again)
	}
	same("suspended", suspended)
	resumed := o.must(o.Resume(t.Context(), o.request(), added.ID))
	if resumed.Suspended != "" || !resumed.SuspendedAt.IsZero() {
		t.Errorf("resumed: %+v", resumed)
	}
	same("resumed", resumed)
	if removed := o.must(o.Remove(t.Context(), o.request(), added.ID)); removed.ID != added.ID {
		t.Errorf("removed: %+v", removed)
	}
	if all := o.all(); len(all) != 0 {
		t.Errorf("left are %+v", all)
	}
	for name, call := range map[string]func() error{
		"find": func() error { _, err := o.Find(t.Context(), o.account, added.ID); return err },
		"change": func() error {
			_, err := o.Change(t.Context(), o.request(), added.ID, hook)
			return err
		},
		"remove": func() error { _, err := o.Remove(t.Context(), o.request(), added.ID); return err },
	} {
		if err := call(); domain.KindOf(err) != domain.WebhookNotFound {
			t.Errorf("%s a removed webhook: %v", name, err)
		}
	}
}

// TestRepeatedAdd checks that a command that is repeated adds one webhook, and that the limit holds for callers at the
// same time.
func TestRepeatedAdd(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r := o.request()
	first := o.must(o.Add(t.Context(), r, hook, ""))
	if again := o.must(o.Add(t.Context(), r, hook, "")); again.ID != first.ID || again.Target.Secret != first.Target.Secret {
		t.Errorf("the repeat made %+v after %+v", again, first)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 15 {
				_, err := o.Add(t.Context(), o.request(), hook, "")
				if err != nil && domain.KindOf(err) != domain.InvalidWebhook {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(o.all()); n != webhooks.MaxWebhooks {
		t.Errorf("the account has %d webhooks, want %d", n, webhooks.MaxWebhooks)
	}
}

// TestUnsealedSecrets checks that no secret reaches a log without a master key.
func TestUnsealedSecrets(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	h := webhooks.New(streams.New(streams.Config{Store: store}))
	_, err := h.Add(t.Context(), domain.Request{Account: "a", Command: uuid.New()}, hook, "")
	if domain.KindOf(err) != domain.InvalidWebhook {
		t.Errorf("without a master key: %v", err)
	}
}

// TestEndsOutlastUnreadableEvents removes and suspends webhooks whose stream has an event of a later version.
func TestEndsOutlastUnreadableEvents(t *testing.T) {
	t.Parallel()
	server := eventstoretest.Serve(t)
	store := eventstoretest.Open(t, server.URL())
	h := webhooks.New(streams.New(streams.Config{Store: store, Keys: commandstest.NewSealingKeys(), Seal: true}))
	account := uuid.NewString()
	request := func() domain.Request { return domain.Request{Account: account, Command: uuid.New()} }
	added, err := h.Add(t.Context(), request(), hook, "")
	if err != nil {
		t.Fatal(err)
	}
	eventstoretest.Append(t, server.URL(), events.StreamWebhooks+account, "webhook.future.v1", []byte(`{}`))
	if _, err := h.Change(t.Context(), request(), added.Webhook.ID, hook); err == nil {
		t.Error("a webhook was changed by a version that does not know its state")
	}
	if _, err := h.Suspend(t.Context(), request(), added.Webhook.ID, "gone"); err != nil {
		t.Errorf("suspended: %v", err)
	}
	if _, err := h.Remove(t.Context(), request(), added.Webhook.ID); err != nil {
		t.Errorf("removed: %v", err)
	}
}

// TestKeys checks the forms of the keys that sign.
func TestKeys(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	target := o.must(o.Add(t.Context(), o.request(), hook, "")).Target
	private, err := webhooks.PrivateKey(target.Key)
	if err != nil {
		t.Fatal(err)
	}
	public := webhooks.PublicKey(target.Key)
	if !strings.HasPrefix(public, "whpk_") || len(private) != ed25519.PrivateKeySize {
		t.Errorf("the public key is %q", public)
	}
	for _, odd := range []string{"", "whsk_", "whsk_AAAA", target.Secret, strings.TrimPrefix(target.Key, "whsk_")} {
		if _, err := webhooks.PrivateKey(odd); err == nil || webhooks.PublicKey(odd) != "" {
			t.Errorf("%q is a key", odd)
		}
	}
}
