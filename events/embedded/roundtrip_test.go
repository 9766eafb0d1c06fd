package embedded_test

import (
	"testing"

	"linkledger/events/embedded/servertest"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c := servertest.Dial(t, s)
	res := servertest.Append(t, c, "a", esdb.NoStream{}, "1", "2", "3")
	if res.NextExpectedVersion != 2 {
		t.Fatalf("revision %d, want 2", res.NextExpectedVersion)
	}
	got, err := servertest.ReadStream(t, c, "a", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "1", "2", "3")
	last := got[2].Event
	if last.Position.Commit != res.CommitPosition || last.EventNumber != 2 || last.ContentType != "application/json" ||
		last.EventType != "test.happened.v1" || last.EventID != servertest.Event("3").EventID {
		t.Fatalf("last event %+v, write %+v", last, res)
	}
	got, err = servertest.ReadStream(t, c, "a", esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "3", "2", "1")
	_, err = servertest.ReadStream(t, c, "none", esdb.ReadStreamOptions{From: esdb.Start{}})
	servertest.WantCode(t, err, esdb.ErrorCodeResourceNotFound)
	_, err = c.AppendToStream(
		servertest.Context(t), "a", esdb.AppendToStreamOptions{ExpectedRevision: esdb.Revision(0)}, servertest.Event("4"),
	)
	servertest.WantCode(t, err, esdb.ErrorCodeWrongExpectedVersion)
}
