package embedded_test

import (
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/types/known/emptypb"

	"linkledger/events/embedded"
	"linkledger/events/embedded/dialect"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/recordedtest"
	"linkledger/events/embedded/servertest"
)

// silence is the time after which a call counts as unanswered.
const silence = 3 * time.Second

func (c *recordedCalls) appends() map[int]func() *recording {
	two, one := func() []*streams.AppendReq_ProposedMessage {
		return fresh(2)
	}, func() []*streams.AppendReq_ProposedMessage { return fresh(1) }
	s2 := func(changes ...change) func() *recording {
		return func() *recording { return c.append("s2", anyRevision, fresh(1, changes...)) }
	}
	to := func(stream string, expect expectation, list []*streams.AppendReq_ProposedMessage) func() *recording {
		return func() *recording { return c.append(stream, expect, list) }
	}
	return map[int]func() *recording{
		1: to("s1", noStream, two()), 2: to("s1", noStream, one()), 3: to("s1", anyRevision, one()),
		4: to("s1", exists, one()), 5: to("none", exists, one()), 6: to("s1", atRevision(3), one()),
		7: to("s1", atRevision(3), one()), 8: to("none", atRevision(3), one()), 9: to("s1", atRevision(99), one()),
		10: to("s1", anyRevision, nil), 11: to("none", anyRevision, nil), 12: to("s1", atRevision(1), nil),
		13: func() *recording { return c.appendWith(nil, one()) },
		14: to("s2", func(*streams.AppendReq_Options) {}, one()), 15: to("", anyRevision, one()),
		16: s2(property("type", "")), 17: s2(without("type")), 18: s2(without("content-type")),
		19: s2(property("type", "x"), property("content-type", "text/plain")),
		20: s2(property("type", "x"), property("more", "m")),
		21: s2(withID(nil)), 22: s2(withID(stringID("00000000-0000-0000-0000-000000000000"))),
		23: s2(withID(stringID("nonsense"))),
		24: s2(
			withID(
				&shared.UUID{
					Value: &shared.UUID_Structured_{
						Structured: &shared.UUID_Structured{MostSignificantBits: 1, LeastSignificantBits: 2},
					},
				},
			),
		),
		25: s2(property("content-type", record.ContentBinary)),
		26: s2(func(m *streams.AppendReq_ProposedMessage) { m.Data = []byte("{none") }),
		27: to("i", noStream, named("a", "b")), 28: to("i", noStream, named("a", "b")),
		29: to("i", anyRevision, named("a", "b")),
		30: to("i", noStream, named("a")), 31: to("i", anyRevision, named("b")), 32: to("i", noStream, named("a", "c")),
		33: to("i", anyRevision, named("a", "c")), 34: to("i", atRevision(0), named("b")),
		35: to("i", atRevision(1), named("b")),
		36: to("twice", noStream, named("d", "d")), 37: to("twice", noStream, named("d", "d")),
		38: to("other", anyRevision, named("a")),
		39: to("large", anyRevision, fresh(1, sized(900_000))),
		40: to("large", anyRevision, fresh(1, sized(1_200_000))),
		41: to("large", anyRevision, fresh(4, sized(400_000))), 42: to("many", anyRevision, fresh(3000)),
		43: to("$x", anyRevision, one()), 44: to("$$y", anyRevision, fresh(1, metadataJSON("{}"))),
		45: to("$$$z", anyRevision, fresh(1, metadataJSON("{}"))),
		46: to("$$bad", anyRevision, fresh(1, metadataJSON("{none"))),
		47: to("ödd/name:% 世", anyRevision, one()), 48: to(longName, anyRevision, one()),
	}
}

func (c *recordedCalls) reads() map[int]func() *recording {
	of := func(changes ...readOption) func() *recording { return func() *recording { return c.read(changes...) } }
	s1 := ofStream("s1", "start")
	limit := func(stream, metadata string) {
		c.append("$$"+stream, anyRevision, fresh(1, metadataJSON(metadata)))
		c.append(stream, anyRevision, fresh(5))
	}
	return map[int]func() *recording{
		49: of(s1), 50: of(ofStream("s1", uint64(1)), atMost(2)), 51: of(ofStream("s1", "end"), backwards, atMost(2)),
		52: of(s1, backwards, atMost(2)), 53: of(ofStream("s1", "end")), 54: of(ofStream("s1", uint64(100))),
		55: of(ofStream("s1", uint64(100)), backwards), 56: of(ofStream("nope", "start")),
		57: of(ofStream("nope", "end"), backwards),
		58: of(s1, atMost(0)), 59: of(s1, func(o *streams.ReadReq_Options) { o.CountOption = nil }),
		60: of(s1, atMost(1<<40)), 61: of(s1, atMost(math.MaxUint64)),
		62: of(s1, atMost(1), func(o *streams.ReadReq_Options) { o.UuidOption = nil }),
		63: of(s1, atMost(1), func(o *streams.ReadReq_Options) {
			o.UuidOption.Content = &streams.ReadReq_Options_UUIDOption_Structured{Structured: none}
		}),
		64: of(s1, func(o *streams.ReadReq_Options) { o.FilterOption = nil }), 65: of(s1, byStream("", -1, 1, "s1")),
		66: of(s1, atMost(1), func(o *streams.ReadReq_Options) { o.ResolveLinks = true }),
		67: of(s1, atMost(1), compatible(1)), 68: of(s1, compatible(1)), 69: of(s1, atMost(1), compatible(9)),
		70: of(ofStream("", "start")), 71: func() *recording {
			return c.read(func(o *streams.ReadReq_Options) { *o = streams.ReadReq_Options{} })
		},
		72: of(), 73: of(ofStream("s1", past+2)), 74: of(ofStream("s1", nil)),
		75: func() *recording { limit("meta", `{"$maxCount":2}`); return c.read(ofStream("meta", "start")) },
		76: of(ofStream("meta", "end"), backwards),
		77: func() *recording { limit("tb", `{"$tb":3}`); return c.read(ofStream("tb", "start")) },
		78: of(ofStream("tb", uint64(1))),
		79: func() *recording {
			limit("age", `{"$maxAge":1}`)
			for { // until the events are too old
				if r := c.read(ofStream("age", "start")); len(r.messages) == 0 || c.t.Context().Err() != nil {
					return r
				}
			}
		},
		80: of(ofStream("$$meta", "end"), backwards),
	}
}

func (c *recordedCalls) deletions() map[int]func() *recording {
	deleteAny := func(o *streams.DeleteReq_Options) {
		o.ExpectedStreamRevision = &streams.DeleteReq_Options_Any{Any: none}
	}
	deleteAt := func(n uint64) func(*streams.DeleteReq_Options) {
		return func(o *streams.DeleteReq_Options) {
			o.ExpectedStreamRevision = &streams.DeleteReq_Options_Revision{Revision: n}
		}
	}
	endAny := func(o *streams.TombstoneReq_Options) {
		o.ExpectedStreamRevision = &streams.TombstoneReq_Options_Any{Any: none}
	}
	of := func(changes ...readOption) func() *recording { return func() *recording { return c.read(changes...) } }
	to := func(stream string, expect expectation, n int) func() *recording {
		return func() *recording { return c.append(stream, expect, fresh(n)) }
	}
	return map[int]func() *recording{
		81: func() *recording {
			for _, stream := range []string{"d1", "d2", "d3", "d4"} {
				c.append(stream, noStream, fresh(2))
			}
			return c.delete("d1", deleteAny)
		},
		82: func() *recording { return c.delete("d1", deleteAny) },
		83: func() *recording { return c.delete("nope", deleteAny) },
		84: func() *recording {
			return c.delete("nope", func(o *streams.DeleteReq_Options) {
				o.ExpectedStreamRevision = &streams.DeleteReq_Options_StreamExists{StreamExists: none}
			})
		},
		85: func() *recording { return c.delete("d2", deleteAt(7)) },
		86: func() *recording { return c.delete("d2", deleteAt(1)) },
		87: of(ofStream("d1", "start")), 88: to("d1", noStream, 1), 89: of(ofStream("d1", "start")),
		90: to("d2", exists, 1),
		91: func() *recording { return c.tombstone("d3", endAny) },
		92: func() *recording { return c.tombstone("d3", endAny) },
		93: func() *recording {
			return c.tombstone("d4", func(o *streams.TombstoneReq_Options) {
				o.ExpectedStreamRevision = &streams.TombstoneReq_Options_Revision{Revision: 7}
			})
		},
		94: func() *recording { return c.tombstone("nope3", endAny) },
		95: of(ofStream("d3", "start")), 96: of(ofStream("d3", "end"), backwards), 97: to("d3", anyRevision, 1),
		98: to("d3", noStream, 1),
		99: func() *recording { return c.delete("d3", deleteAny) }, 100: of(ofStream("$$d3", "end"), backwards),
		101: to("d3", anyRevision, 0),
	}
}

func (c *recordedCalls) logReads() map[int]func() *recording {
	of := func(changes ...readOption) func() *recording { return func() *recording { return c.read(changes...) } }
	inside := func(changes ...readOption) func() *recording {
		return func() *recording {
			at := c.at + 1
			return c.read(append([]readOption{ofLogAt(at, at)}, changes...)...)
		}
	}
	start, end := ofLog("start"), ofLog("end")
	return map[int]func() *recording{
		102: of(start, atMost(2), byStream("", -1, 1, "s1")), 103: of(start, atMost(2), byStream("", 0, 1, "s1")),
		104: of(start, byStream("(", -1, 1)), 105: of(start, atMost(1), byStream("^(?!x)s1", -1, 1)),
		106: of(start, byStream("", -1, 1), func(o *streams.ReadReq_Options) { o.GetFilter().Filter = nil }),
		107: of(start, byStream("", -1, 1)), 108: of(start, byStream("", -1, 1, "x"), byType),
		109: of(end, backwards, atMost(1)), 110: of(start, backwards), 111: of(end), 112: of(start, atMost(0)),
		113: of(ofLogAt(past, past)),
		114: inside(), 115: inside(backwards), 116: of(ofLogAt(5, 10)),
		117: of(ofLogAt(math.MaxUint64, math.MaxUint64)),
		118: of(live, ofStream("s1", "start")), 119: of(live, ofStream("s1", uint64(2))),
		120: of(live, ofStream("s1", "end")),
		121: of(live, ofStream("nope", "start")), 122: of(live, ofStream("s1", uint64(100))),
		123: of(live, ofStream("d3", "start")),
		124: of(live, ofStream("d2", "start")), 125: of(live, ofStream("s1", "start"), backwards),
		126: of(live, start, byStream("", 1, 1, "s")), 127: of(live, start, byStream("", 32, 1, "none-")),
		128: of(live, start, byStream("", 32, 0, "s1")), 129: of(live, start, byStream("", 0, 1, "s1")),
		130: of(live, ofLogAt(past, past)),
		131: inside(live), 132: of(live, end), 133: of(live, end, byStream("", 32, 1, "s1")),
	}
}

func (c *recordedCalls) batches() map[int]func() *recording {
	of := func(f *streams.BatchAppendReq, changes ...func(*streams.BatchAppendReq)) func() *recording {
		for _, change := range changes {
			change(f)
		}
		return func() *recording { return c.batch(f) }
	}
	expectNone := func(f *streams.BatchAppendReq) {
		f.Options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
	}
	other := func(method string) func() *recording { return func() *recording { return c.other(method) } }
	return map[int]func() *recording{
		134: of(wholeBatch("b1", 2), expectNone), 135: of(wholeBatch("b1", 1), expectNone),
		136: of(wholeBatch("b1", 1), func(f *streams.BatchAppendReq) {
			f.Options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: 1}
		}),
		137: of(wholeBatch("b-none", 1), func(f *streams.BatchAppendReq) {
			f.Options.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamExists{
				StreamExists: &emptypb.Empty{},
			}
		}),
		138: func() *recording {
			first, second := wholeBatch("b2", 1), wholeBatch("b2", 1)
			first.IsFinal, second.Options, second.CorrelationId = false, nil, first.GetCorrelationId()
			return c.batch(first, second)
		},
		139: of(wholeBatch("", 1), func(f *streams.BatchAppendReq) { f.Options = nil }),
		140: of(wholeBatch("b3", 1), func(f *streams.BatchAppendReq) { f.CorrelationId = nil }),
		141: of(wholeBatch("d3", 1)), 142: of(wholeBatch("b4", 1, sized(1_200_000))), 143: of(wholeBatch("b5", 0)),
		144: of(wholeBatch("b5", 1, withID(stringID("nonsense")))),
		145: of(wholeBatch("b6", 1), func(f *streams.BatchAppendReq) { f.Options.DeadlineOption = nil }),
		146: of(wholeBatch("b7", 1, without("type"))),
		147: c.features, 148: c.gossip,
		149: other("persistent_subscriptions.PersistentSubscriptions/Create"),
		150: other("persistent_subscriptions.PersistentSubscriptions/GetInfo"),
		151: other("persistent_subscriptions.PersistentSubscriptions/List"),
		152: other("persistent_subscriptions.PersistentSubscriptions/Delete"),
		153: other("operations.Operations/MergeIndexes"), 154: other("operations.Operations/SetNodePriority"),
		155: other("operations.Operations/RestartPersistentSubscriptions"),
		156: other("operations.Operations/ResignNode"),
		157: other("users.Users/Create"),
	}
}

// differing makes the calls in sequence. It returns those whose responses differ from those of the
// real server, with both responses.
func differing(t *testing.T, answers dialect.Dialect, version recordedtest.Version) map[int]string {
	t.Helper()
	cases, err := recordedtest.Load(version)
	if err != nil {
		t.Fatal(err)
	}
	c := newRecordedCalls(t, servertest.Open(t, func(cfg *embedded.Config) { cfg.Dialect = answers }))
	calls := c.appends()
	for _, more := range []map[int]func() *recording{c.reads(), c.deletions(), c.logReads(), c.batches()} {
		maps.Copy(calls, more)
	}
	differ := map[int]string{}
	var mu sync.Mutex
	compare := func(number int, got string) {
		if want := caseText(t, cases[number], cases[number].InPart); got != want {
			mu.Lock()
			defer mu.Unlock()
			differ[number] = cases[number].Name + ":\n" + got + "\nand of the real server:\n" + want
		}
	}
	var waiting sync.WaitGroup
	for _, number := range slices.Sorted(maps.Keys(cases)) {
		call := calls[number]
		if call == nil {
			t.Fatalf("call %d, %s, is missing", number, cases[number].Name)
		}
		if answers != nil && cases[number].Silent() && number < 139 {
			waiting.Go(func() {
				quiet := *c
				quiet.silent = true
				compare(number, quiet.repeat(number).text(t, cases[number]))
			})
			continue
		}
		compare(number, call().text(t, cases[number]))
	}
	waiting.Wait()
	return differ
}

// repeat makes a call again. The call MUST NOT change the store.
func (c *recordedCalls) repeat(number int) *recording {
	if call := c.logReads()[number]; call != nil {
		return call()
	}
	return c.reads()[number]()
}

var listed = regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|([^|]*)\|([^|]*)\|`)

// listedDifferences returns the numbers of the calls that the documentation lists as answered
// differently from a version.
func listedDifferences(t *testing.T, version recordedtest.Version) []int {
	t.Helper()
	text, err := os.ReadFile("../../docs/eventstore-differences.md")
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, row := range listed.FindAllStringSubmatch(string(text), -1) {
		if versions := strings.TrimSpace(row[2]); versions != "both" && versions != string(version) {
			continue
		}
		for number := range strings.SplitSeq(row[1], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(number))
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// TestRecordedAnswersOfOthers checks that the store with the dialect of a real server answers as
// that server, except for the calls that the store does not offer.
func TestRecordedAnswersOfOthers(t *testing.T) {
	t.Parallel()
	for _, version := range recordedtest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			for number, how := range differing(t, version, version) {
				if !slices.Contains(notOffered, number) {
					t.Errorf("%d %s", number, how)
				}
			}
		})
	}
}

// notOffered are the calls that the store does not offer in any dialect.
var notOffered = []int{105, 126, 139, 147, 149, 150, 151, 152, 153, 154, 155, 156, 157}

// TestRecordedAnswers makes the recorded calls. It checks that the responses differ from those of
// real servers for exactly the calls that the documentation lists.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	for _, version := range recordedtest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			differ, want := differing(t, nil, version), listedDifferences(t, version)
			if got := slices.Sorted(maps.Keys(differ)); !slices.Equal(got, want) {
				t.Errorf(
					"calls that are answered differently: %v\nlisted in docs/eventstore-differences.md: %v", got, want,
				)
				for number, how := range differ {
					if !slices.Contains(want, number) {
						t.Logf("%d %s", number, how)
					}
				}
			}
		})
	}
}
