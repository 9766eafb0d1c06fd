package effects_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/effects"
	"linkledger/effects/outbox"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/projections/projectionstest"
)

// TestEveryMessageInOrder lets attempts fail at random while processes come and go. Each message is delivered, and
// those about one subject in their order.
func TestEveryMessageInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(effects.CatchUpRecent)
	w.begun()
	receivers := []uuid.UUID{w.receiver(), w.receiver(), w.receiver()}
	w.outcome = func(ctx context.Context, d delivery) outbox.Outcome {
		switch rand.IntN(10) {
		case 0:
			return outbox.Outcome{Status: 500, Answer: "no"}
		case 1: // the receiver gets the message, and its answer is lost
			w.mu.Lock()
			w.got = append(w.got, d)
			w.mu.Unlock()
			return outbox.Outcome{Answer: "timeout"}
		}
		return outbox.Outcome{Delivered: true}
	}
	subjects := []string{"a", "b", "c", "d"}
	const each = 24
	for i := range each {
		for _, subject := range subjects {
			w.say(subject, i)
		}
		if i%8 == 4 { // another process takes over
			former := stop
			stop = w.start(effects.CatchUpRecent)
			former()
		}
	}
	done := func(got []delivery) bool {
		for _, r := range receivers {
			for _, s := range subjects {
				if len(firsts(got, r, s)) < each {
					return false
				}
			}
		}
		return true
	}
	for ticker := time.NewTicker(20 * time.Millisecond); ; <-ticker.C {
		w.letRetriesBeDue()
		w.mu.Lock()
		all := done(w.got)
		w.mu.Unlock()
		if all {
			break
		}
		if projectionstest.Context(t).Err() != nil {
			t.Fatal("not all messages are delivered")
		}
	}
	for _, r := range receivers {
		for _, s := range subjects {
			equal(t, s, firsts(w.got, r, s), upTo(each))
		}
	}
	w.outcome = nil
	w.awaitRows("SELECT count(*) FROM linkledger_durable.queues", 0)
	w.awaitRows("SELECT count(*) FROM linkledger_durable.outbox WHERE state <> 'delivered'", 0)
}

// TestBeginsAtTheHead checks that an effect does nothing about events from before it began, and knows the receivers
// that were made before.
func TestBeginsAtTheHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	receiver, removed := w.receiver(), w.receiver()
	w.Append(events.StreamTags+removed.String(), events.TagDeleted{TagID: removed.String(), At: time.Now()})
	w.say("a", 0)
	w.start(effects.CatchUpAll)
	w.begun()
	w.say("a", 1)
	w.await(func(got []delivery) bool { return len(got) > 0 })
	equal(t, "after the beginning", firsts(w.got, receiver, "a"), []int{1})
	w.awaitRows("SELECT count(*) FROM linkledger_durable.receivers", 1)
}

// TestAfterAStart checks what happens to the events that were appended while no process ran.
func TestAfterAStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catchUp effects.CatchUp
		want    []int
		skipped int64
	}{
		"recent": {effects.CatchUpRecent, []int{0, 1}, 0},
		"all":    {effects.CatchUpAll, []int{0, 1}, 0},
		"none":   {effects.CatchUpNone, []int{1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			stop := w.start(effects.CatchUpRecent)
			w.begun()
			receiver := w.receiver()
			w.awaitRows("SELECT count(*) FROM linkledger_durable.receivers", 1)
			stop()
			w.say("a", 0)
			w.start(c.catchUp)
			w.awaitRows("SELECT count(*) FROM linkledger_durable.effects WHERE epoch > 1", 1)
			w.say("a", 1)
			w.await(func(got []delivery) bool { return len(got) == len(c.want) })
			equal(t, name, firsts(w.got, receiver, "a"), c.want)
			w.awaitRows("SELECT skipped FROM linkledger_durable.effects", c.skipped)
		})
	}
}

// TestEndedReceiver checks that a receiver that wants nothing more is suspended, and gets what it has missed when it is
// opened again.
func TestEndedReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(effects.CatchUpRecent)
	w.begun()
	ended, other := w.receiver(), w.receiver()
	w.outcome = func(_ context.Context, d delivery) outbox.Outcome {
		if d.receiver == ended {
			return outbox.Outcome{Status: 410, Answer: "gone", End: "it answered 410"}
		}
		return outbox.Outcome{Delivered: true}
	}
	w.say("a", 0)
	w.say("b", 0)
	w.await(func(got []delivery) bool { return len(got) == 2 && w.suspended[ended] != "" })
	if w.suspended[ended] != "it answered 410" || w.suspended[other] != "" {
		t.Errorf("suspended are %v", w.suspended)
	}
	w.closes(ended)
	w.mu.Lock()
	w.outcome = nil
	w.mu.Unlock()
	w.Append(events.StreamTags+ended.String(), events.TagRenamed{TagID: ended.String(), Label: "x", At: time.Now()})
	w.await(func(got []delivery) bool { return len(got) == 4 })
	equal(t, "a", firsts(w.got, ended, "a"), []int{0})
	equal(t, "b", firsts(w.got, ended, "b"), []int{0})
}

// TestRemovedReceiver checks that nothing is left of a removed receiver.
func TestRemovedReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(effects.CatchUpRecent)
	w.begun()
	receiver := w.receiver()
	w.outcome = func(context.Context, delivery) outbox.Outcome { return outbox.Outcome{Status: 500} }
	w.say("a", 0)
	w.awaitRows("SELECT count(*) FROM linkledger_durable.outbox WHERE attempts = 1", 1)
	w.Append(events.StreamTags+receiver.String(), events.TagDeleted{TagID: receiver.String(), At: time.Now()})
	for _, table := range []string{"receivers", "queues", "outbox"} {
		w.awaitRows("SELECT count(*) FROM linkledger_durable."+table, 0)
	}
}

// TestSlowReceiver checks that receivers which answer nothing hold no other one up.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(effects.CatchUpRecent)
	w.begun()
	slow := map[uuid.UUID]bool{}
	for range 80 {
		slow[w.receiver()] = true
	}
	other := w.receiver()
	release := make(chan struct{})
	defer close(release)
	w.outcome = func(_ context.Context, d delivery) outbox.Outcome {
		if slow[d.receiver] {
			<-release
			return outbox.Outcome{Answer: "no answer"}
		}
		return outbox.Outcome{Delivered: true}
	}
	for i := range 20 {
		for _, subject := range strings.Fields("a b c d e f g h i j") {
			w.say(subject, i)
		}
	}
	w.await(func(got []delivery) bool { return len(got) == 200 })
	for _, subject := range strings.Fields("a b c d e f g h i j") {
		equal(t, subject, firsts(w.got, other, subject), upTo(20))
	}
}

// TestReplacedLog lets an effect find a log without the events that it has followed.
func TestReplacedLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.start(effects.CatchUpRecent)
	w.begun()
	gone := w.receiver()
	w.say("a", 0)
	w.await(func(got []delivery) bool { return len(got) == 1 })
	stop()
	w.store = eventstoretest.New(t)
	w.Writer = projectionstest.NewWriter(t, w.store)
	kept := w.receiver()
	w.start(effects.CatchUpRecent)
	w.awaitRows("SELECT count(*) FROM linkledger_durable.receivers WHERE id = '"+kept.String()+"'", 1)
	w.say("a", 1)
	w.await(func(got []delivery) bool { return len(got) == 2 })
	equal(t, "kept", firsts(w.got, kept, "a"), []int{1})
	equal(t, "gone", firsts(w.got, gone, "a"), []int{0})
}

// TestFirstReceiver checks that the first receiver of an effect gets every event after its own, and none before.
func TestFirstReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(effects.CatchUpRecent)
	w.begun()
	for round := range 5 {
		before := len(w.got)
		w.say("a", 3*round)
		receiver := w.receiver()
		w.say("a", 3*round+1)
		w.say("a", 3*round+2)
		w.await(func(got []delivery) bool { return len(got) == before+2 })
		equal(t, "after the receiver", firsts(w.got, receiver, "a"), []int{3*round + 1, 3*round + 2})
		w.Append(events.StreamTags+receiver.String(), events.TagDeleted{TagID: receiver.String(), At: time.Now()})
		w.awaitRows("SELECT count(*) FROM linkledger_durable.receivers", 0)
	}
}
