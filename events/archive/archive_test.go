package archive

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/events/proof"
	"linkledger/events/proof/leaf"
	"linkledger/internal/soak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const accountA, accountB = "019a0000-0000-7000-8000-00000000000a", "019a0000-0000-7000-8000-00000000000b"

// newLog returns an event store with links, tags and clicks of two accounts.
func newLog(t *testing.T) *eventstore.Store {
	t.Helper()
	store := eventstoretest.New(t)
	handler := commands.NewHandler(commands.Config{Streams: streams.New(streams.Config{Store: store})})
	for i := range 20 {
		account := []string{accountA, accountB}[i%2]
		outcome := handler.CreateURLs(t.Context(), domain.Request{
			Account: account, Command: uuid.New(), ID: "r\"1",
		}, []commands.CreateURL{
			{
				LongURL: "https://example.com/?a='b'&c=\"d\"" + strconv.Itoa(i), Note: "n, \"o\"\nt\r\n\u2028e",
				Tags: []string{"tag " + strconv.Itoa(i)},
			},
		}).Items[0]
		if outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		_, err := store.Append(t.Context(), eventstore.Write{
			Stream: events.StreamClicks + strconv.Itoa(i), Expected: eventstore.NoStream, Command: uuid.New(),
			Events: []events.Event{events.ClicksRecorded{Clicks: []events.Click{{URLID: outcome.URL.ID}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// write exports the events of a store to memory.
func write(t *testing.T, store *eventstore.Store, header Header) (string, Manifest) {
	t.Helper()
	var out bytes.Buffer
	export, err := Begin(t.Context(), store, &out, header)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := export.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sum
}

// allEvents returns all events of a log.
func allEvents(t *testing.T, store *eventstore.Store) []eventstore.Recorded {
	t.Helper()
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []eventstore.Recorded
	err = store.ReadLog(t.Context(), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		all = append(all, batch...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestExportHasEveryStoredByte(t *testing.T) {
	t.Parallel()
	store := newLog(t)
	all := allEvents(t, store)
	file, sum := write(t, store, Header{Format: NDJSON})
	lines := strings.Split(file, "\n")
	if len(lines) != len(all)+3 || sum.Count != int64(len(all)) || sum.Last != Position(all[len(all)-1].Position) {
		t.Fatalf("%d lines and %+v of %d events", len(lines), sum, len(all))
	}
	for i, r := range all {
		for _, want := range []string{
			string(r.Data), string(r.Metadata), `"id":"` + r.ID.String() + `"`, `"stream":"` + r.Stream + `"`,
		} {
			if !strings.Contains(lines[i+1], want) {
				t.Errorf("no %s in %s", want, lines[i+1])
			}
		}
	}
	if again, _ := write(t, store, Header{Format: NDJSON}); again != file {
		t.Error("a second export of the same log differs")
	}
	csv, sumCSV := write(t, store, Header{Format: CSV})
	if sumCSV != sum {
		t.Errorf("the sum of csv is %+v, of ndjson %+v", sumCSV, sum)
	}
	for _, file := range []string{file, csv} {
		if _, checked, err := Check(strings.NewReader(file)); err != nil || checked != sum {
			t.Errorf("check: %+v, %v", checked, err)
		}
	}
}

func TestExportOfAccountAndTime(t *testing.T) {
	t.Parallel()
	store := newLog(t)
	all := allEvents(t, store)
	file, sum := write(t, store, Header{Format: NDJSON, Account: accountA})
	if strings.Contains(file, accountB) || strings.Contains(file, `"clicks.recorded.v1"`) {
		t.Error("an account's file contains events of other accounts")
	}
	if want := int64(10 * 2); sum.Count != want { // each item is a link and a tag
		t.Errorf("%d events of the account, want %d", sum.Count, want)
	}
	from, to := all[10].Time, all[30].Time
	var want int64
	for _, r := range all {
		if !r.Time.Before(from) && r.Time.Before(to) {
			want++
		}
	}
	if _, sum = write(t, store, Header{Format: NDJSON, From: from, To: to}); sum.Count != want {
		t.Errorf("%d events of the time, want %d", sum.Count, want)
	}
}

// TestResume checks that resuming an export that was interrupted at any byte yields the same file
// as an export without interruption.
func TestResume(t *testing.T) {
	soak.NotShort(t)
	t.Parallel()
	store := newLog(t)
	for _, header := range []Header{{Format: NDJSON}, {Format: CSV}, {Format: NDJSON, Account: accountA}} {
		whole, sum := write(t, store, header)
		begun := strings.Index(whole, "\n") + 1
		name := filepath.Join(t.TempDir(), "export")
		for cut := begun; cut < len(whole); cut += 1 + len(whole)/40 {
			if err := os.WriteFile(name, []byte(whole[:cut]), 0o600); err != nil {
				t.Fatal(err)
			}
			resumed := resume(t, store, name)
			if got, err := os.ReadFile(name); err != nil || string(got) != whole || resumed != sum {
				t.Fatalf("cut at %d of %d: %+v instead of %+v, %v", cut, len(whole), resumed, sum, err)
			}
		}
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Resume(store, file); !errors.Is(err, ErrComplete) {
			t.Errorf("resume a complete file: %v", err)
		}
		_ = file.Close()
	}
}

func resume(t *testing.T, store *eventstore.Store, name string) Manifest {
	t.Helper()
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	export, err := Resume(store, file)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := export.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestInterruptedExport(t *testing.T) {
	t.Parallel()
	store := newLog(t)
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	export, err := Begin(ctx, store, &out, Header{Format: NDJSON})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := export.Run(ctx, nil); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("interrupted: %v", err)
	}
	if _, _, err := Check(&out); !errors.Is(err, ErrIncomplete) {
		t.Errorf("check: %v", err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	store := newLog(t)
	for _, format := range []Format{NDJSON, CSV} {
		whole, _ := write(t, store, Header{Format: format})
		lines := strings.SplitAfter(whole, "\n")
		lines = lines[:len(lines)-1]
		join := func(parts ...[]string) string {
			var all strings.Builder
			for _, part := range parts {
				all.WriteString(strings.Join(part, ""))
			}
			return all.String()
		}
		first := len(lines) - 1 - 20 // any event
		for name, damaged := range map[string]string{
			"changed":       strings.Replace(whole, "example.com", "example.net", 1),
			"removed":       join(lines[:first], lines[first+1:]),
			"reordered":     join(lines[:first], lines[first+1:first+2], lines[first:first+1], lines[first+2:]),
			"inserted":      join(lines[:first+1], lines[first:]),
			"goes on":       whole + lines[first],
			"no header":     join(lines[1:]),
			"empty header":  "{}\n" + join(lines[1:]),
			"no event":      join(lines[:first], []string{"{}\n"}, lines[first:]),
			"two manifests": whole + lines[len(lines)-1],
			"last position": strings.Replace(whole, `"last":{"commit":`, `"last":{"commit":1`, 1),
		} {
			if damaged == whole {
				t.Fatalf("%s %s: nothing was damaged", format, name)
			}
			if _, _, err := Check(strings.NewReader(damaged)); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: %v", format, name, err)
			}
		}
		if _, _, err := Check(strings.NewReader(join(lines[:len(lines)-1]))); !errors.Is(err, ErrIncomplete) {
			t.Errorf("%s without its manifest: %v", format, err)
		}
	}
}

// TestCheckDemandsSpelling checks that Check rejects lines that are not written as an export writes
// them, even with a matching manifest, because another reader might read something else from them.
func TestCheckDemandsSpelling(t *testing.T) {
	t.Parallel()
	store := newLog(t)
	for _, format := range []Format{NDJSON, CSV} {
		whole, _ := write(t, store, Header{Format: format})
		event := `{"position":{"commit":`
		for name, change := range map[string][2]string{
			"doubled header":         {`{"export":`, `{"export":null,"export":`},
			"header in another case": {`{"export":`, `{"Export":`},
			"doubled format":         {`"format":`, `"format":"x","format":`},
			"unknown key":            {`"format":`, `"forged":1,"format":`},
			"space in the header":    {`{"export":`, `{"export": `},
			"doubled count":          {`"count":`, `"count":1,"count":`},
			"count in another case":  {`"count":`, `"COUNT":`},
			"count with an exponent": {`,"first"`, `e0,"first"`},
			"space in the manifest":  {`{"manifest":`, `{"manifest": `},
			"behind the manifest":    {whole, whole + "x"},
			"byte order mark":        {whole, "\ufeff" + whole},
			"doubled position":       {event, `{"position":{"commit":1,"prepare":1},"position":{"commit":`},
			"doubled stream":         {`},"stream":`, `},"stream":"forged","stream":`},
			"stream in another case": {`},"stream":`, `},"Stream":`},
			"space in an event":      {event, `{ "position":{"commit":`},
			"escape in an event":     {`"stream":"u`, `"stream":"\u0075`},
			"unquoted field":         {`"url.created.v1"`, `url.created.v1`},
			"leading zero":           {"\n1", "\n01"},
			"carriage return":        {"\n1", "\r\n1"},
		} {
			changed := strings.Replace(whole, change[0], change[1], 1)
			if changed == whole {
				continue // the format has no such part
			}
			if _, _, err := Check(strings.NewReader(remanifested(t, format, changed))); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s %s: %v", format, name, err)
			}
		}
	}
}

// remanifested replaces the root hash in the manifest by that of the file's lines, as a forger of
// an event would.
func remanifested(t *testing.T, format Format, file string) string {
	t.Helper()
	lines := strings.Split(file, "\n")
	var tree proof.Tree
	for i, line := range lines {
		if i == 0 || strings.HasPrefix(strings.TrimPrefix(line, "# "), `{"manifest"`) || line == columns || line == "" {
			continue
		}
		leaf := []byte(line)
		if format == CSV {
			fields, err := csv.NewReader(strings.NewReader(line)).Read()
			if err != nil || len(fields) != columnCount {
				return file
			}
			leaf = leafOfCSV(fields)
		}
		tree.Add(tlog.RecordHash(leaf))
	}
	before, after, found := strings.Cut(file, `"root":"`)
	if !found {
		return file
	}
	return before + `"root":"` + tree.Root().String() + after[strings.IndexByte(after, '"'):]
}

// TestLinesKeepStoredBytes checks that both formats preserve stored bytes that are not JSON on one
// line, and give the same leaf.
func TestLinesKeepStoredBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stored := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(
				rapid.SampledFrom([]string{`{"a":"b\"c"}`, ` {}`, "{\n}", `"x"`, `1`, "{}\n", `{"a":"ü\u2028"}`}),
				func(s string) []byte { return []byte(s) },
			),
		)
		r := eventstore.Recorded{
			Position: eventstore.Position{Commit: rapid.Uint64().Draw(t, "commit")},
			Stream:   rapid.StringMatching(`[ -~ü]{1,9}`).Draw(t, "stream"),
			Type:     "x", ID: uuid.New(), Data: stored.Draw(t, "data"), Metadata: stored.Draw(t, "metadata"),
		}
		leaf := leaf.Append(nil, r)
		line, err := appendCSV(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		c := content{header: Header{Format: CSV}}
		if err := c.addEvent(line); err != nil {
			t.Fatal(err)
		}
		if want := tlog.RecordHash(leaf); c.computedManifest().Root != want {
			t.Fatalf("csv %s has another leaf than %s", line, leaf)
		}
	})
}
