package webhooks_test

// This file has a receiver of webhooks, which verifies what it gets.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"linkledger/effects"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }

// deliver delivers to webhooks until the test ends. It returns when the effect has begun, so that webhooks get all
// later events.
func deliver(t *testing.T, s *httpapitest.Stack) {
	t.Helper()
	s.Start(t, func(ctx context.Context) error {
		effects.Run(ctx, s.Effect, effects.Config{
			Pool: s.DB.Writers, Store: s.Store, Owner: s.Owner, Logger: slog.New(slog.NewTextHandler(s.Log, nil)),
		})
		return nil
	})
	eventually(t, "the effect begins", func() (begun bool) {
		if err := s.DB.NewRaw("SELECT EXISTS (SELECT FROM linkledger_durable.effects WHERE epoch > 0)").
			Scan(httpapitest.WithTimeout(t), &begun); err != nil {
			t.Fatal(err)
		}
		return begun
	})
}

// eventually waits until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx := httpapitest.WithTimeout(t)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("not in time: %s", what)
		}
	}
}

// got is a delivery as a receiver got it.
type got struct {
	contract.Event
	id, body, signature string
}

// receiver is an HTTP server to which webhooks lead.
type receiver struct {
	*httptest.Server
	t      *testing.T
	client *httpapitest.Client

	mu      sync.Mutex
	all     []got
	status  func(got) int // nil: always 200
	webhook contract.Webhook
	changed chan struct{}
}

// newReceiver adds a webhook with some fields, and returns the receiver to which it leads.
func newReceiver(t *testing.T, client *httpapitest.Client, fields string) *receiver {
	t.Helper()
	r := &receiver{t: t, client: client, changed: make(chan struct{}, 1)}
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	if fields != "" {
		fields = "," + fields
	}
	r.webhook = client.Must("POST", "/v3/webhooks", `{"url":"`+r.URL+`/hook"`+fields+`}`).Webhooks[0]
	return r
}

func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.webhook.Secret != "" {
		r.verify(request.Header, body)
	}
	g := got{id: request.Header.Get("webhook-id"), body: string(body), signature: request.Header.Get("webhook-signature")}
	if err := json.Unmarshal(body, &g.Event); err != nil {
		r.t.Errorf("%v in %s", err, body)
	}
	status := http.StatusOK
	if r.status != nil {
		status = r.status(g)
	}
	r.all = append(r.all, g)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "answer of the receiver")
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// verify checks both signatures of a delivery.
func (r *receiver) verify(header http.Header, body []byte) {
	verifier, err := standard.NewWebhook(r.webhook.Secret)
	if err == nil {
		err = verifier.Verify(body, header)
	}
	if err != nil {
		r.t.Errorf("the signature v1: %v", err)
	}
	public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.webhook.PublicKey, "whpk_"))
	if err != nil {
		r.t.Fatal(err)
	}
	signed := bytes.Join([][]byte{
		[]byte(header.Get("webhook-id")), []byte(header.Get("webhook-timestamp")), body,
	}, []byte("."))
	for signature := range strings.FieldsSeq(header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1a,")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && ed25519.Verify(public, signed, raw) {
			return
		}
	}
	r.t.Error("no signature v1a fits")
}

// await waits until says is true of what was received, and returns it.
func (r *receiver) await(says func(all []got) bool) []got {
	r.t.Helper()
	ctx := httpapitest.WithTimeout(r.t)
	for {
		r.mu.Lock()
		all, done := r.all, says(r.all)
		r.mu.Unlock()
		if done {
			return all
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			r.t.Fatalf("waited in vain; received are %d deliveries: %s", len(all), kinds(all))
		}
	}
}

// awaitN waits until n deliveries were received.
func (r *receiver) awaitN(n int) []got {
	r.t.Helper()
	return r.await(func(all []got) bool { return len(all) >= n })
}

// kinds returns the types of deliveries in the order of their arrival.
func kinds(all []got) string {
	var kinds []string
	for _, g := range all {
		kinds = append(kinds, g.Type)
	}
	return strings.Join(kinds, " ")
}

// sortedKinds returns the types of deliveries about several links, whose order is not fixed.
func sortedKinds(all []got) string {
	sorted := strings.Fields(kinds(all))
	slices.Sort(sorted)
	return strings.Join(sorted, " ")
}
