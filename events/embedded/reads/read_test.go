package reads_test

import (
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded"
	"linkledger/events/embedded/request"
	"linkledger/events/embedded/servertest"
	"linkledger/events/embedded/wire"
)

func numbered(from, to int) []string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, strconv.Itoa(i))
	}
	return list
}

func reversed(list []string) []string {
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, list[len(list)-1-i])
	}
	return out
}

func TestReadStreamWindow(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	const last = 599 // more than two pages
	servertest.Append(t, c, "s", esdb.NoStream{}, numbered(0, last)...)
	for _, tc := range []struct {
		name  string
		dir   esdb.Direction
		from  esdb.StreamPosition
		count uint64
		want  []string
	}{
		{"all", esdb.Forwards, esdb.Start{}, servertest.All, numbered(0, last)},
		{"count", esdb.Forwards, esdb.Start{}, 300, numbered(0, 299)},
		{"inclusive", esdb.Forwards, esdb.Revision(597), servertest.All, numbered(597, last)},
		{"beyond the end", esdb.Forwards, esdb.Revision(600), servertest.All, nil},
		{"forwards from end", esdb.Forwards, esdb.End{}, servertest.All, nil},
		{"count 0", esdb.Forwards, esdb.Start{}, 0, nil},
		{"back", esdb.Backwards, esdb.End{}, servertest.All, reversed(numbered(0, last))},
		{"back inclusive", esdb.Backwards, esdb.Revision(2), servertest.All, reversed(numbered(0, 2))},
		{"back beyond the end", esdb.Backwards, esdb.Revision(5000), 2, reversed(numbered(598, last))},
		{"back from start", esdb.Backwards, esdb.Start{}, servertest.All, numbered(0, 0)},
	} {
		got, err := servertest.Drain(
			c.ReadStream(servertest.Context(t), "s", esdb.ReadStreamOptions{Direction: tc.dir, From: tc.from}, tc.count),
		)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if fmt.Sprint(servertest.Names(got)) != fmt.Sprint(tc.want) {
			t.Errorf("%s: got %d events, want %d", tc.name, len(got), len(tc.want))
		}
	}
}

func TestMetadataLimitsReads(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	for i, tc := range []struct {
		data string
		want []string
	}{
		{`{"$maxCount":2}`, numbered(8, 9)},
		{`{"$tb":7}`, numbered(7, 9)},
		{`{"$tb":10}`, nil},
		{`{"$tb":3,"$maxCount":9}`, numbered(3, 9)},
		{`{"$maxCount":0}`, numbered(0, 9)},
		{`{"$maxCount":"2"}`, numbered(0, 9)},
		{`{"$maxCount":2,"$tb":1.5}`, numbered(0, 9)},
		{`no json`, numbered(0, 9)},
		{`null`, numbered(0, 9)},
	} {
		stream := fmt.Sprint("s", i)
		servertest.Append(t, c, stream, esdb.NoStream{}, numbered(0, 9)...)
		servertest.SetMetadata(t, c, stream, tc.data)
		got, err := servertest.ReadStream(t, c, stream, esdb.ReadStreamOptions{From: esdb.Start{}})
		if err != nil {
			t.Fatal(err)
		}
		back, err := servertest.ReadStream(t, c, stream, esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards})
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(servertest.Names(got)) != fmt.Sprint(tc.want) || fmt.Sprint(servertest.Names(back)) != fmt.Sprint(reversed(tc.want)) {
			t.Errorf("%s: got %v and %v, want %v", tc.data, servertest.Names(got), servertest.Names(back), tc.want)
		}
	}
}

func TestMetadataStreamShowsLastOnly(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.SetMetadata(t, c, "s", `{"$maxCount":1}`)
	servertest.SetMetadata(t, c, "s", `{"$maxCount":2}`)
	meta, err := c.GetStreamMetadata(servertest.Context(t), "s", esdb.ReadStreamOptions{})
	if err != nil || meta.MaxCount() == nil || *meta.MaxCount() != 2 {
		t.Fatalf("metadata %+v, %v; want the last", meta, err)
	}
	_, err = servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	servertest.WantCode(t, err, esdb.ErrorCodeResourceNotFound)
}

func TestMaxAge(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	clock.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	c := servertest.Dial(t, servertest.Open(t, func(cfg *embedded.Config) { cfg.Now = func() time.Time { return time.Unix(clock.Load(), 0) } }))
	servertest.Append(t, c, "s", esdb.NoStream{}, "old")
	clock.Add(100)
	servertest.Append(t, c, "s", esdb.Revision(0), "young")
	servertest.SetMetadata(t, c, "s", `{"$maxAge":60}`)
	for _, dir := range []esdb.Direction{esdb.Forwards, esdb.Backwards} {
		from := esdb.StreamPosition(esdb.Start{})
		if dir == esdb.Backwards {
			from = esdb.End{}
		}
		got, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: from, Direction: dir})
		if err != nil {
			t.Fatal(err)
		}
		servertest.WantNames(t, got, "young")
	}
	servertest.SetMetadata(t, c, "s", `{"$maxAge":9223372036854775807}`)
	got, err := servertest.ReadStream(t, c, "s", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "old", "young")
}

func TestLinks(t *testing.T) {
	t.Parallel()
	c := servertest.Dial(t, servertest.Open(t))
	servertest.Append(t, c, "s", esdb.NoStream{}, "a", "b")
	servertest.Append(t, c, "gone", esdb.NoStream{}, "c")
	if err := servertest.Delete(t, c, "gone", esdb.Any{}); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"1@s", "0@gone", "7@s", "no link"} {
		ev := esdb.EventData{EventType: "$>", Data: []byte(data)}
		if _, err := c.AppendToStream(servertest.Context(t), "links", esdb.AppendToStreamOptions{}, ev); err != nil {
			t.Fatal(err)
		}
	}
	got, err := servertest.ReadStream(t, c, "links", esdb.ReadStreamOptions{From: esdb.Start{}, ResolveLinkTos: true})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "b", "<unresolved>", "<unresolved>", "no link")
	first := got[0]
	if first.Link == nil || first.Link.EventNumber != 0 || first.Event.EventNumber != 1 || first.Event.StreamID != "s" {
		t.Fatalf("resolved %+v from %+v", first.Event, first.Link)
	}
	if *first.Commit != first.Link.Position.Commit {
		t.Fatalf("commit %d, want that of the link %d", *first.Commit, first.Link.Position.Commit)
	}
	if got[1].Link == nil || got[3].Link != nil {
		t.Fatalf("links %v, %v", got[1].Link, got[3].Link)
	}
	got, err = servertest.ReadStream(t, c, "links", esdb.ReadStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	servertest.WantNames(t, got, "1@s", "0@gone", "7@s", "no link")
}

func TestReadAllBounds(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c := servertest.Dial(t, s)
	before := len(servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}}))
	if before != servertest.NewStoreEvents {
		t.Fatalf("a fresh store shows %d events, want %d", before, servertest.NewStoreEvents)
	}
	servertest.Append(t, c, "s", esdb.NoStream{}, "a", "b")
	res := servertest.Append(t, c, "t", esdb.NoStream{}, "c")
	list := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: esdb.Start{}})
	var last uint64
	for _, ev := range list {
		p := ev.Event.Position
		if p.Commit <= last || p.Commit != p.Prepare || *ev.Commit != p.Commit {
			t.Fatalf("position %+v after %d", p, last)
		}
		last = p.Commit
	}
	if last != res.CommitPosition {
		t.Fatalf("the last event is at %d, its write returned %d", last, res.CommitPosition)
	}
	b := list[len(list)-2].Event.Position
	beyond := esdb.Position{Commit: last + 1000, Prepare: last + 1000}
	for _, tc := range []struct {
		name string
		opts esdb.ReadAllOptions
		want []string
	}{
		{"forwards includes", esdb.ReadAllOptions{From: b}, []string{"b", "c"}},
		{"forwards from end", esdb.ReadAllOptions{From: esdb.End{}}, nil},
		{"forwards beyond", esdb.ReadAllOptions{From: beyond}, nil},
		{"backwards from start", esdb.ReadAllOptions{From: esdb.Start{}, Direction: esdb.Backwards}, nil},
	} {
		if got := servertest.ReadAll(t, c, tc.opts); fmt.Sprint(servertest.Names(got)) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, servertest.Names(got), tc.want)
		}
	}
	for name, tc := range map[string]struct {
		from esdb.AllPosition
		want string
	}{"excludes": {b, "a"}, "from end": {esdb.End{}, "c"}, "beyond": {beyond, "c"}} {
		got := servertest.ReadAll(t, c, esdb.ReadAllOptions{From: tc.from, Direction: esdb.Backwards})
		if servertest.Names(got)[0] != tc.want {
			t.Errorf("backwards %s: first is %v, want %s", name, servertest.Names(got)[0], tc.want)
		}
	}
	for _, p := range []esdb.Position{{Commit: b.Commit + 1, Prepare: b.Commit + 1}, {Commit: 1, Prepare: 1}} {
		_, err := servertest.Drain(c.ReadAll(servertest.Context(t), esdb.ReadAllOptions{From: p}, servertest.All))
		if err == nil {
			t.Errorf("position %v inside a record was accepted", p)
		}
		sub, err := c.SubscribeToAll(servertest.Context(t), esdb.SubscribeToAllOptions{From: p})
		if err == nil {
			sub.Close()
			t.Errorf("subscription from %v inside a record was accepted", p)
		}
	}
}

func rawRead(t *testing.T, raw streams.StreamsClient, opts *streams.ReadReq_Options) ([]*streams.ReadResp, error) {
	t.Helper()
	call, err := raw.Read(servertest.Context(t), &streams.ReadReq{Options: opts})
	if err != nil {
		return nil, err
	}
	var got []*streams.ReadResp
	for {
		resp, err := call.Recv()
		if err != nil {
			if err.Error() == "EOF" {
				return got, nil
			}
			return got, err
		}
		got = append(got, resp)
	}
}

func streamOptions(name string, compatibility uint32) *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: wire.StreamIdentifier(name),
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}},
		CountOption:  &streams.ReadReq_Options_Count{Count: 1},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}},
		},
		ControlOption: &streams.ReadReq_Options_ControlOption{Compatibility: compatibility},
	}
}

func TestStreamPositionMessages(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c, raw := servertest.Dial(t, s), servertest.DialRaw(t, s)
	servertest.Append(t, c, "s", esdb.NoStream{}, numbered(0, 99)...)
	servertest.SetMetadata(t, c, "s", `{"$tb":40}`)
	got, err := rawRead(t, raw, streamOptions("s", 1))
	if err != nil || len(got) != 3 {
		t.Fatalf("%d messages, %v; want 3", len(got), err)
	}
	if got[0].GetFirstStreamPosition() != 40 || got[1].GetEvent().GetEvent().GetStreamRevision() != 40 ||
		got[2].GetLastStreamPosition() != 99 {
		t.Fatalf("got %v", got)
	}
	if id := got[1].GetEvent().GetEvent().GetId().GetString_(); id != servertest.Event("40").EventID.String() {
		t.Fatalf("id %q is not the one asked for as a string", id)
	}
	if got, err = rawRead(t, raw, streamOptions("s", 0)); err != nil || len(got) != 1 {
		t.Fatalf("%d messages, %v; want the event only", len(got), err)
	}
}

func TestMalformedReads(t *testing.T) {
	t.Parallel()
	raw := servertest.DialRaw(t, servertest.Open(t))
	filtered := func(f *streams.ReadReq_Options_FilterOptions) func(*streams.ReadReq_Options) {
		return func(o *streams.ReadReq_Options) {
			o.StreamOption = &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
				AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
			}}
			o.FilterOption = &streams.ReadReq_Options_Filter{Filter: f}
		}
	}
	byType := func(e *streams.ReadReq_Options_FilterOptions_Expression) *streams.ReadReq_Options_FilterOptions {
		return &streams.ReadReq_Options_FilterOptions{
			Filter:                       &streams.ReadReq_Options_FilterOptions_EventType{EventType: e},
			Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: 32},
			CheckpointIntervalMultiplier: 1,
		}
	}
	noInterval, noWindow := byType(nil), byType(nil)
	noInterval.CheckpointIntervalMultiplier, noWindow.Window = 0, nil
	for name, breakIt := range map[string]func(*streams.ReadReq_Options){
		"no stream":    func(o *streams.ReadReq_Options) { o.StreamOption = nil },
		"no count":     func(o *streams.ReadReq_Options) { o.CountOption = nil },
		"no filter":    func(o *streams.ReadReq_Options) { o.FilterOption = nil },
		"no revision":  func(o *streams.ReadReq_Options) { o.GetStream().RevisionOption = nil },
		"empty stream": func(o *streams.ReadReq_Options) { o.GetStream().StreamIdentifier = nil },
		"long stream": func(o *streams.ReadReq_Options) {
			o.GetStream().StreamIdentifier = &shared.StreamIdentifier{StreamName: make([]byte, request.MaxStreamName+1)}
		},
		"bad UTF-8": func(o *streams.ReadReq_Options) {
			o.GetStream().StreamIdentifier = &shared.StreamIdentifier{StreamName: []byte{0xff}}
		},
		"huge revision": func(o *streams.ReadReq_Options) {
			o.GetStream().RevisionOption = &streams.ReadReq_Options_StreamOptions_Revision{Revision: math.MaxInt64 + 1}
		},
		"filter on stream": func(o *streams.ReadReq_Options) {
			o.FilterOption = &streams.ReadReq_Options_Filter{Filter: byType(nil)}
		},
		"subscription backwards": func(o *streams.ReadReq_Options) {
			o.CountOption = &streams.ReadReq_Options_Subscription{}
			o.ReadDirection = streams.ReadReq_Options_Backwards
		},
		"filter without subject":  filtered(&streams.ReadReq_Options_FilterOptions{}),
		"filter without interval": filtered(noInterval),
		"filter without window":   filtered(noWindow),
		"filter with lookahead":   filtered(byType(&streams.ReadReq_Options_FilterOptions_Expression{Regex: "(?=x)"})),
		"filter with long pattern": filtered(
			byType(
				&streams.ReadReq_Options_FilterOptions_Expression{Regex: string(make([]byte, request.MaxRegexLen+1))},
			),
		),
		"filter with many prefixes": filtered(byType(&streams.ReadReq_Options_FilterOptions_Expression{
			Prefix: make([]string, request.MaxPrefixes+1),
		})),
	} {
		opts := streamOptions("s", 0)
		breakIt(opts)
		if _, err := rawRead(t, raw, opts); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v, want InvalidArgument", name, err)
		}
	}
	if _, err := rawRead(t, raw, nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no options: %v, want InvalidArgument", err)
	}
}

func TestFilteredCountRead(t *testing.T) {
	t.Parallel()
	s := servertest.Open(t)
	c, raw := servertest.Dial(t, s), servertest.DialRaw(t, s)
	servertest.Append(t, c, "url-1", esdb.NoStream{}, numbered(0, 299)...)
	servertest.Append(t, c, "tags-1", esdb.NoStream{}, "x", "y")
	opts := streamOptions("", 0)
	opts.StreamOption = &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
		AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
	}}
	opts.FilterOption = &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
			StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Regex: "^tags-"},
		},
		Window: &streams.ReadReq_Options_FilterOptions_Count{Count: &shared.Empty{}}, CheckpointIntervalMultiplier: 1,
	}}
	got, err := rawRead(t, raw, opts)
	if err != nil || len(got) != 1 || string(got[0].GetEvent().GetEvent().GetData()) != `"x"` {
		t.Fatalf("got %v, %v; want the first match", got, err)
	}
}
