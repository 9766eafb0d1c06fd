package streampages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/httpapi/httpapitest"
	"linkledger/internal/operators/operatorstest"
	"linkledger/internal/operators/streampages"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }

// TestCheckName checks which streams an operator may name.
func TestCheckName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"url-1": true, strings.Repeat("a", 512): true,
		"": false, "$all": false, "$ce-url": false, strings.Repeat("a", 513): false, "a\x00b": false, "a\xff": false,
	} {
		if got := streampages.CheckName(name) == nil; got != want {
			t.Errorf("%.20q may be named: %t, want %t", name, got, want)
		}
	}
}

// retargeted appends a stream of changes that lead to the addresses, and returns its name.
func retargeted(t *testing.T, s *httpapitest.Stack, addresses ...string) string {
	t.Helper()
	stream := events.StreamURL + uuid.NewString()
	changes := make([]events.Event, 0, len(addresses))
	for _, address := range addresses {
		changes = append(changes, events.URLRetargeted{LongURL: address, At: time.Now()})
	}
	if _, err := s.Store.Append(t.Context(), eventstore.Write{
		Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(), Events: changes,
	}); err != nil {
		t.Fatal(err)
	}
	return stream
}

// TestStream turns the pages of a stream.
func TestStream(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	b := operatorstest.SignIn(t, s, h)
	var addresses []string
	for n := range 61 {
		addresses = append(addresses, fmt.Sprintf("https://example.com/%d", n))
	}
	stream := retargeted(t, s, addresses...)
	b.Shows("/console/streams", "a link with a generated hash are in the stream")
	first := b.Shows("/console/streams?stream="+stream, "url.retargeted.v1", "https://example.com/0", `from=50`, "?revision=49&")
	if strings.Contains(first, "?revision=50&") {
		t.Error("the first page has more events than a page has")
	}
	last := b.Shows("/console/streams?from=50&stream="+stream, "https://example.com/59", "from=0", "?revision=60&")
	if strings.Contains(last, "from=100") || strings.Contains(last, "?revision=49&") {
		t.Errorf("the last page leads on, or back into itself\n%s", last)
	}
	b.Shows("/console/streams?stream=url-none", "The stream has no events from there on")
	for _, wrong := range []string{"stream=%24all", "stream=" + stream + "&from=-1", "stream=" + stream + "&from=x"} {
		if a := b.Call("GET", "/console/streams?"+wrong, ""); a.Status != http.StatusBadRequest {
			t.Errorf("%s answers %d", wrong, a.Status)
		}
	}
	if a := b.Call("GET", "/console/streams/event?stream="+stream+"&revision=61", ""); a.Status != http.StatusNotFound {
		t.Errorf("an event that is not there answers %d", a.Status)
	}
}

// TestLongBody checks that a page shows the beginning of a long body.
func TestLongBody(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, httpapitest.Timeout)
	stream := retargeted(t, s, "https://example.com/"+strings.Repeat("é", 5000))
	shown := operatorstest.SignIn(t, s, h).Shows("/console/streams/event?stream="+stream+"&revision=0", "\n… ", " bytes")
	if n := strings.Count(shown, "é"); n == 0 || n >= 5000 || strings.Contains(shown, "\ufffd") {
		t.Errorf("%d of 5000 letters are shown", n)
	}
}

// TestOutage checks that a page waits no longer than it may for the event store.
func TestOutage(t *testing.T) {
	t.Parallel()
	s, h := operatorstest.New(t, 50*time.Millisecond)
	b := operatorstest.SignIn(t, s, h)
	s.Events.Stop()
	if a := b.Call("GET", "/console/streams?stream=hash-one", ""); a.Status != http.StatusServiceUnavailable {
		t.Errorf("without the event store: %d\n%s", a.Status, a.Body)
	}
}
