package streampages_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/internal/operators"
	"linkledger/internal/operators/alonetest"
	"linkledger/internal/operators/streampages"
	"linkledger/projections/projectionstest"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }

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

// TestStream turns the pages of a stream.
func TestStream(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	b := c.Operator()
	link, _ := c.Writer.Link(c.Writer.Account(), "one")
	stream := events.StreamURL + link.String()
	for n := range 60 {
		c.Writer.Append(stream, events.URLRetargeted{LongURL: fmt.Sprintf("https://example.com/%d", n), At: time.Now()})
	}
	b.Shows("/console/streams", "A link with a generated hash lies in")
	first := b.Shows("/console/streams?stream="+stream, "url.created.v1", "https://example.com/", `from=50`, "?revision=49&")
	if strings.Contains(first.Text, "?revision=50&") {
		t.Error("the first page has more events than a page has")
	}
	last := b.Shows("/console/streams?from=50&stream="+stream, "https://example.com/59", "from=0", "?revision=60&")
	if strings.Contains(last.Text, "from=100") || strings.Contains(last.Text, "?revision=49&") {
		t.Errorf("the last page leads on, or back into itself\n%s", last.Text)
	}
	b.Shows("/console/streams?stream=url-none", "The stream has no events from there on")
	for _, wrong := range []string{"stream=%24all", "stream=" + stream + "&from=-1", "stream=" + stream + "&from=x"} {
		if a := b.Get("/console/streams?" + wrong); a.Status != http.StatusBadRequest {
			t.Errorf("%s answers %d", wrong, a.Status)
		}
	}
}

// TestEvent opens events, and checks which projections have applied them.
func TestEvent(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	b := c.Operator()
	link, _ := c.Writer.Link(c.Writer.Account(), "one")
	c.Await()
	path := "/console/streams/event?stream=" + events.StreamURL + link.String() + "&revision="
	a := b.Shows(path+"0", "url.created.v1", `"long_url": "https://example.com/"`, `/console/projections/links">links</a>`, "applied")
	if strings.Contains(a.Text, "not applied yet") || strings.Contains(a.Text, "set aside") {
		t.Errorf("a projection has not applied the event\n%s", a.Text)
	}
	if a := b.Get(path + "1"); a.Status != http.StatusNotFound {
		t.Errorf("an event that is not there answers %d", a.Status)
	}

	tags := events.StreamTags + uuid.NewString()
	c.Writer.Append(tags, events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}) // of a tag that never was
	event := "/console/streams/event?stream=" + tags + "&revision=0"
	b.ShowsSoon(event, "set aside: ")
	if a := b.Send("/console/projections/tags/discard", map[string][]string{"stream": {tags}}); a.Status != http.StatusOK {
		t.Fatalf("discard answers %d", a.Status)
	}
	b.ShowsSoon(event, "discarded by an operator")
}

// TestLongBody checks that a page shows the beginning of a long body.
func TestLongBody(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t)
	link, _ := c.Writer.Link(c.Writer.Account(), "one")
	stream := events.StreamURL + link.String()
	c.Writer.Append(stream, events.URLRetargeted{LongURL: "https://example.com/" + strings.Repeat("é", 5000), At: time.Now()})
	a := c.Operator().Shows("/console/streams/event?stream="+stream+"&revision=1", "\n… ", " bytes")
	if n := strings.Count(a.Text, "é"); n == 0 || n >= 5000 || strings.Contains(a.Text, "\ufffd") {
		t.Errorf("%d of 5000 letters are shown", n)
	}
}

// TestOutage checks that a page waits no longer than it may for the event store.
func TestOutage(t *testing.T) {
	t.Parallel()
	c := alonetest.New(t, func(cfg *operators.Config) { cfg.Patience = 50 * time.Millisecond })
	b := c.Operator()
	c.Events.Stop()
	if a := b.Get("/console/streams?stream=hash-one"); a.Status != http.StatusServiceUnavailable {
		t.Errorf("without the event store: %d\n%s", a.Status, a.Text)
	}
}
