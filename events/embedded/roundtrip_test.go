package embedded

import (
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := open(t)
	c := dial(t, s)
	res := appendTo(t, c, "a", esdb.NoStream{}, "1", "2", "3")
	if res.NextExpectedVersion != 2 {
		t.Fatalf("revision %d, want 2", res.NextExpectedVersion)
	}
	got, err := readStream(t, c, "a", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, got, "1", "2", "3")
	last := got[2].Event
	if last.Position.Commit != res.CommitPosition || last.EventNumber != 2 || last.ContentType != "application/json" ||
		last.EventType != "test.happened.v1" || last.EventID != event("3").EventID {
		t.Fatalf("last event %+v, write %+v", last, res)
	}
	got, err = readStream(t, c, "a", esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards})
	if err != nil {
		t.Fatal(err)
	}
	wantNames(t, got, "3", "2", "1")
	_, err = readStream(t, c, "none", esdb.ReadStreamOptions{From: esdb.Start{}})
	wantCode(t, err, esdb.ErrorCodeResourceNotFound)
	_, err = c.AppendToStream(
		testContext(t), "a", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Revision(0)}, event("4"),
	)
	wantCode(t, err, esdb.ErrorCodeWrongExpectedVersion)
}

func TestSubscribeAllFiltered(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "url-1", esdb.Any{}, "1")
	appendTo(t, c, "other", esdb.Any{}, "x")
	sub, err := c.SubscribeToAll(testContext(t), esdb.SubscribeToAllOptions{
		From: esdb.Start{}, Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"url-"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.EventAppeared == nil {
		t.Fatalf("got %+v, want the event", ev)
	}
	if ev := sub.Recv(); ev.CheckPointReached == nil {
		t.Fatalf("got %+v, want a checkpoint", ev)
	}
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	appendTo(t, c, "url-2", esdb.NoStream{}, "2")
	if ev := sub.Recv(); ev.EventAppeared == nil || string(ev.EventAppeared.Event.Data) != `"2"` {
		t.Fatalf("got %+v, want the live event", ev)
	}
}

func TestSubscribeStream(t *testing.T) {
	t.Parallel()
	c := dial(t, open(t))
	appendTo(t, c, "a", esdb.Any{}, "1", "2")
	sub, err := c.SubscribeToStream(testContext(t), "a", esdb.SubscribeToStreamOptions{From: esdb.Revision(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventNumber != 1 {
		t.Fatalf("got %+v, want event 1", ev)
	}
	if ev := sub.Recv(); ev.CaughtUp == nil {
		t.Fatalf("got %+v, want caught up", ev)
	}
	appendTo(t, c, "a", esdb.Any{}, "3")
	if ev := sub.Recv(); ev.EventAppeared == nil || ev.EventAppeared.Event.EventNumber != 2 {
		t.Fatalf("got %+v, want event 2", ev)
	}
}
