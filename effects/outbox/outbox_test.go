package outbox_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/effects/outbox"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

// place is an outbox with one receiver.
type place struct {
	*outbox.Outbox
	t        *testing.T
	db       *readmodel.DB
	receiver outbox.Receiver
}

func newPlace(t *testing.T) *place {
	t.Helper()
	db := projectionstest.Open(t)
	p := &place{
		Outbox: outbox.New("test", db.Writers), t: t, db: db,
		receiver: outbox.Receiver{ID: uuid.New(), Account: uuid.New(), Config: json.RawMessage(`{"a": 1}`), Open: true},
	}
	p.apply(outbox.Changes{Set: []outbox.Receiver{p.receiver}})
	return p
}

func (p *place) apply(c outbox.Changes) {
	p.t.Helper()
	ctx := projectionstest.Context(p.t)
	if err := pgx.BeginFunc(ctx, p.db.Writers, func(tx pgx.Tx) error { return p.Apply(ctx, tx, c) }); err != nil {
		p.t.Fatal(err)
	}
}

// add adds messages, such as "a 1": their subject and text.
func (p *place) add(texts ...string) []outbox.Message {
	p.t.Helper()
	all := make([]outbox.Message, len(texts))
	for i, text := range texts {
		subject, _, _ := strings.Cut(text, " ")
		all[i] = outbox.Message{
			ID: uuid.New(), Receiver: p.receiver.ID, Subject: subject, Commit: uint64(i), At: time.Now(), Kind: "k",
			Body: []byte(text),
		}
	}
	p.apply(outbox.Changes{Messages: all})
	return all
}

// claim claims all queues that are due, by their subjects.
func (p *place) claim() map[string]outbox.Claim {
	p.t.Helper()
	claims, err := p.ClaimOf(projectionstest.Context(p.t), p.receiver.ID, 100)
	if err != nil {
		p.t.Fatal(err)
	}
	bySubject := make(map[string]outbox.Claim)
	for _, c := range claims {
		bySubject[c.Subject] = c
	}
	return bySubject
}

// waiting returns the texts of the messages of a claimed queue.
func (p *place) waiting(c outbox.Claim) string {
	p.t.Helper()
	all, err := p.Waiting(projectionstest.Context(p.t), c, 100)
	if err != nil {
		p.t.Fatal(err)
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, string(m.Body))
	}
	return strings.Join(texts, ", ")
}

func (p *place) first(c outbox.Claim) outbox.Message {
	p.t.Helper()
	all, err := p.Waiting(projectionstest.Context(p.t), c, 1)
	if err != nil || len(all) == 0 {
		p.t.Fatalf("nothing waits: %v", err)
	}
	return all[0]
}

func (p *place) count(query string) int64 { return projectionstest.Count(p.t, p.db, query) }

func equal[V comparable](t *testing.T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestQueues checks that messages wait in the queues of their subjects, that a claimed queue is given to nobody else, and
// that an empty one is removed.
func TestQueues(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), projectionstest.Context(t)
	added := p.add("a 1", "b 1", "a 2")
	p.apply(outbox.Changes{Messages: added}) // again, as after a commit whose answer was lost
	claims := p.claim()
	equal(t, "a", p.waiting(claims["a"]), "a 1, a 2")
	equal(t, "b", p.waiting(claims["b"]), "b 1")
	equal(t, "config", string(claims["a"].Receiver.Config), `{"a": 1}`)
	equal(t, "claimed twice", len(p.claim()), 0)
	for range 2 {
		if err := p.Delivered(ctx, claims["a"], p.first(claims["a"]), time.Now(), outbox.Outcome{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	p.add("a 3") // while the worker still has the queue
	if more, err := p.Leave(ctx, claims["a"]); !more || err != nil {
		t.Errorf("a third message is left: %t, %v", more, err)
	}
	a := p.claim()["a"]
	equal(t, "left", p.waiting(a), "a 3")
	if err := p.Delivered(ctx, a, p.first(a), time.Now(), outbox.Outcome{Status: 204, Answer: "x"}); err != nil {
		t.Fatal(err)
	}
	if more, err := p.Leave(ctx, a); more || err != nil {
		t.Errorf("nothing is left: %t, %v", more, err)
	}
	equal(t, "queues", p.count("SELECT count(*) FROM linkledger_durable.queues"), 1)
	page, total, err := p.List(ctx, p.receiver.ID, outbox.Done, 0, 1)
	if err != nil || total != 3 || len(page) != 1 || page[0].Status != 204 || page[0].Answer != "x" || page[0].Attempts != 1 || page[0].LastTry.IsZero() {
		t.Errorf("%+v of %d, %v", page, total, err)
	}
}

// TestLostClaims checks that a worker whose claim has run out, or whose receiver is gone, stores nothing.
func TestLostClaims(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), projectionstest.Context(t)
	p.add("a 1")
	former := p.claim()["a"]
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.queues SET claimed_until = now()")
	present, m := p.claim()["a"], p.first(former)
	for what, err := range map[string]error{
		"delivered": p.Delivered(ctx, former, m, time.Now(), outbox.Outcome{}),
		"failed":    p.NotDelivered(ctx, former, m, time.Now(), outbox.Outcome{}, outbox.Retry{}),
	} {
		if !errors.Is(err, outbox.ErrClaimLost) {
			t.Errorf("%s by a former worker: %v", what, err)
		}
	}
	if more, err := p.Leave(ctx, former); more || err != nil {
		t.Errorf("a former worker leaves: %t, %v", more, err)
	}
	equal(t, "still claimed", len(p.claim()), 0)
	equal(t, "attempts", p.count("SELECT sum(attempts) FROM linkledger_durable.outbox"), 0)
	p.apply(outbox.Changes{Remove: []uuid.UUID{p.receiver.ID}})
	if err := p.Delivered(ctx, present, m, time.Now(), outbox.Outcome{}); !errors.Is(err, outbox.ErrClaimLost) {
		t.Errorf("delivered to a receiver that is gone: %v", err)
	}
}

// TestFailures checks when a message, and a receiver that fails, are tried again.
func TestFailures(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), projectionstest.Context(t)
	p.add("a 1", "a 2", "b 1", "c 1")
	claims := p.claim()
	fail := func(c outbox.Claim, retry outbox.Retry) {
		t.Helper()
		if err := p.NotDelivered(ctx, c, p.first(c), time.Now(), outbox.Outcome{Status: 500, Answer: "no"}, retry); err != nil {
			t.Fatal(err)
		}
	}
	leave := func(c outbox.Claim) {
		t.Helper()
		if _, err := p.Leave(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	fail(claims["a"], outbox.Retry{After: time.Hour})
	leave(claims["b"])
	leave(claims["c"])
	if now := p.claim(); len(now) != 1 { // of a receiver that fails, one queue at a time
		t.Errorf("claimed are %v", now)
	}
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.queues SET due_at = now() - interval '1 hour' WHERE subject = 'a'")
	a := p.claim()["a"]
	equal(t, "failures of the queue", a.Failures, 1)
	equal(t, "failures of the receiver", a.Receiver.Failures, 1)
	if since := a.Receiver.FailingSince; since.IsZero() || time.Since(since) > time.Minute {
		t.Errorf("it fails since %s", since)
	}
	fail(a, outbox.Retry{GiveUp: true})
	equal(t, "after the message that was given up", p.waiting(a), "a 2")
	a.Receiver.Failures = 2
	fail(a, outbox.Retry{Receiver: time.Hour})
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.queues SET claimed_until = '-infinity', due_at = now()")
	equal(t, "of a receiver that waits", len(p.claim()), 0)
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.receivers SET retry_at = now()")
	one := p.claim()
	for _, c := range one {
		equal(t, "failures of the receiver", c.Receiver.Failures, 3)
		if err := p.Delivered(ctx, c, p.first(c), time.Now(), outbox.Outcome{Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "after a success", len(p.claim()), 2)
	if n, err := p.Redeliver(ctx, p.receiver.ID, outbox.Selection{Failed: true}); n != 1 || err != nil {
		t.Errorf("%d delivered again, %v", n, err)
	}
	equal(t, "that have failed", p.count("SELECT count(*) FROM linkledger_durable.outbox WHERE state = 'failed'"), 0)
}

// TestClosedReceiver checks that a closed receiver gets nothing, and everything when it is opened again.
func TestClosedReceiver(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), projectionstest.Context(t)
	p.add("a 1")
	c := p.claim()["a"]
	if err := p.NotDelivered(ctx, c, p.first(c), time.Now(), outbox.Outcome{}, outbox.Retry{After: time.Hour, Receiver: time.Hour}); err != nil {
		t.Fatal(err)
	}
	closed := p.receiver
	closed.Open = false
	p.apply(outbox.Changes{Set: []outbox.Receiver{closed}})
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.receivers SET retry_at = '-infinity'")
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.queues SET due_at = now()")
	equal(t, "closed", len(p.claim()), 0)
	projectionstest.Exec(t, p.db, "UPDATE linkledger_durable.queues SET due_at = now() + interval '1 hour'")
	p.apply(outbox.Changes{Set: []outbox.Receiver{p.receiver}})
	opened := p.claim()["a"]
	equal(t, "opened", p.waiting(opened), "a 1")
	equal(t, "failures", opened.Receiver.Failures, 0)
	if any, err := p.ClaimAny(ctx, 10, []uuid.UUID{p.receiver.ID}); len(any) != 0 || err != nil {
		t.Errorf("claimed of an excepted receiver: %v, %v", any, err)
	}
}

// TestPrune removes messages that have ended, and none that wait.
func TestPrune(t *testing.T) {
	t.Parallel()
	p, ctx := newPlace(t), projectionstest.Context(t)
	p.add("a 1", "a 2")
	c := p.claim()["a"]
	if err := p.Delivered(ctx, c, p.first(c), time.Now().Add(-time.Hour), outbox.Outcome{}); err != nil {
		t.Fatal(err)
	}
	for before, want := range map[time.Duration]int64{-2 * time.Hour: 0, -time.Minute: 1} {
		if n, err := p.Prune(ctx, time.Now().Add(before), 10); err != nil || n > want {
			t.Errorf("%s: %d removed, %v", before, n, err)
		}
	}
	equal(t, "left", p.count("SELECT count(*) FROM linkledger_durable.outbox"), 1)
}
