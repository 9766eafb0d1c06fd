package auditor_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/auditor"
	"linkledger/internal/console"
	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/queries"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type operator = installation.Operator

func history(q auditor.HistoryQuery) installationtest.Command {
	return func(ctx context.Context, o operator) error { return auditor.History(ctx, o, q) }
}

func at(hash, account string, when time.Time) installationtest.Command {
	return func(ctx context.Context, o operator) error { return auditor.LinkAt(ctx, o, hash, account, when) }
}

func restore(hash string, revision *int64) installationtest.Command {
	return func(ctx context.Context, o operator) error {
		return auditor.Restore(ctx, o, hash, revision, "https://sho.rt")
	}
}

func undo(batch string) installationtest.Command {
	return func(ctx context.Context, o operator) error {
		return auditor.Undo(ctx, o, uuid.MustParse(batch), "https://sho.rt")
	}
}

// byHash returns an edit of a link.
func byHash(hash string) commands.EditURL { return commands.EditURL{Ref: linkwrite.Ref{Hash: hash}} }

func noted(hash, note string) commands.EditURL {
	edit := byHash(hash)
	edit.Note = &note
	return edit
}

var late = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// renamed creates the link one, which is then edited, renamed to two, and visited.
func renamed(t *testing.T) (*installationtest.Installation, events.Click) {
	t.Helper()
	i := installationtest.New(t)
	link := i.Create(installationtest.Link("one"))[0]
	edit := noted("one", "=1+1\u202e[2J")
	edit.CustomHash = new("two")
	i.Edit(edit)
	click := events.Click{URLID: link.ID, Visitor: "somebody", At: time.Now().UTC()}
	i.Append("clicks-2026-01-01-node", events.ClicksRecorded{Clicks: []events.Click{click}})
	return i, click
}

// TestHistory prints the history of a link with two hashes in all formats.
func TestHistory(t *testing.T) {
	t.Parallel()
	i, click := renamed(t)
	var whole struct {
		Links []struct {
			Hashes []audit.Tenure                         `json:"hashes"`
			Daily  map[string]struct{ Total, Unique int } `json:"daily_clicks"`
		} `json:"links"`
		Events []audit.Entry `json:"events"`
	}
	out := i.Run(history(auditor.HistoryQuery{Hash: "one", Format: "json"})).Has()
	if err := json.Unmarshal([]byte(out), &whole); err != nil {
		t.Fatal(err)
	}
	day := click.At.Format(time.DateOnly)
	if len(whole.Links) != 1 || len(whole.Links[0].Hashes) != 2 || whole.Links[0].Daily[day].Total != 1 || len(whole.Events) != 5 {
		t.Errorf("the JSON is %+v", whole)
	}
	key := i.Acme.Account.Keys[0].ID
	table := i.Run(history(auditor.HistoryQuery{Hash: "one", Account: "acme", Format: "table"})).Has(
		"one from ", "two from ", ` note: "" -> "=1+1\u202e[2J"`+"\n", ` hash: "one" -> "two"`+"\n",
		" total_clicks: null -> 1\n", "\nby visitors\n", "\tacme\t")
	for _, e := range whole.Events[:len(whole.Events)-1] { // each batch has several events
		above := "by acme, key " + key + ", batch " + e.Batch + "\n"
		if n := strings.Count(table, above); n != 1 || strings.Count(table, e.Batch) != 1 {
			t.Errorf("%q is in the table %d times\n%s", above, n, table)
		}
	}
	for line := range strings.Lines(table) {
		if len(line) > 150 {
			t.Errorf("a long line: %s", line)
		}
	}
	clicks := i.Run(history(auditor.HistoryQuery{Hash: "two", Clicks: true})).Has("\nby visitors\n", " visitor somebody\n")
	if strings.Contains(clicks, "clicks of the day") {
		t.Errorf("with each click, the days are in the table\n%s", clicks)
	}
	rows, err := csv.NewReader(strings.NewReader(
		i.Run(history(auditor.HistoryQuery{Hash: "two", Clicks: true, Format: "csv"})).Has(),
	)).ReadAll()
	if err != nil || len(rows) < 6 || rows[0][18] != "field" || rows[0][15] != "visitor" {
		t.Fatalf("the CSV is %v, %v", rows, err)
	}
	if last := rows[len(rows)-1]; last[5] != "clicks.recorded.v1" || last[15] != "somebody" || last[18] != "" {
		t.Errorf("the click is %v", last)
	}
	if !slices.ContainsFunc(rows, func(row []string) bool {
		return row[18] == "note" && row[19] == `""` && row[20] == `"=1+1\u202e[2J"` && row[9] == key
	}) {
		t.Errorf("the CSV lacks the note: %v", rows)
	}
	lines := strings.Split(strings.TrimSpace(i.Run(history(auditor.HistoryQuery{Hash: "two", Format: "ndjson"})).Has()), "\n")
	if len(lines) != 5 || slices.ContainsFunc(lines, func(line string) bool { return !json.Valid([]byte(line)) }) {
		t.Errorf("the lines are %v", lines)
	}
}

// TestHistoryOfSomebody selects the events of a key, and names links of several accounts.
func TestHistoryOfSomebody(t *testing.T) {
	t.Parallel()
	i, _ := renamed(t)
	key := i.Acme.Account.Keys[0].ID
	if out := i.Run(history(auditor.HistoryQuery{Hash: "one", By: key})).Has("url.created.v1"); strings.Contains(out, "visitors") {
		t.Errorf("the events of a key have visits\n%s", out)
	}
	if out := i.Run(history(auditor.HistoryQuery{Hash: "one", By: "none"})).Has("two from "); strings.Contains(out, "url.created.v1") {
		t.Errorf("nobody has made\n%s", out)
	}
	i.Create(installationtest.Link("one")) // acme has left the hash
	i.Run(history(auditor.HistoryQuery{Hash: "one", Account: i.Acme.Account.ID})).Has(", link ")
	for text, q := range map[string]auditor.HistoryQuery{
		"There is no account": {Hash: "one", Account: "nobody"}, "none": {Hash: "none"}, "A hash is 1 to 25": {Hash: "n.n"},
	} {
		i.Run(history(q)).Refused(text)
	}
}

// TestLinkAt prints a link before an edit and now.
func TestLinkAt(t *testing.T) {
	t.Parallel()
	i, _ := renamed(t)
	var whole struct {
		Links []struct {
			Hashes []audit.Tenure `json:"hashes"`
		} `json:"links"`
	}
	out := i.Run(history(auditor.HistoryQuery{Hash: "one", Format: "json"})).Has()
	if err := json.Unmarshal([]byte(out), &whole); err != nil {
		t.Fatal(err)
	}
	before := whole.Links[0].Hashes[1].From.Add(-time.Millisecond)
	var was struct {
		Hash, Note string
		LongURL    string `json:"long_url"`
		Until      time.Time
	}
	if err := i.JSON(&was, at("one", "acme", before)); err != nil || was.LongURL != "https://example.com/one" ||
		was.Note != "" || was.Until.IsZero() || was.Hash != "one" {
		t.Errorf("before the edit: %+v, %v", was, err)
	}
	i.Run(at("two", "", late)).Has("until now", `note	"=1+1\u202e[2J"`, "max_clicks\t", `long_url	"https://example.com/one"`)
	i.Run(at("one", "", before)).Has(" until 2", `note	""`)
	i.Run(at("one", "", late)).Refused(`had moved from the hash "one" to "two"`)
	i.Run(at("one", "nobody", late)).Refused("There is no account")
}

// TestErasedNotes checks that the notes of an erased account are marked, and not quoted as a note would be.
func TestErasedNotes(t *testing.T) {
	t.Parallel()
	i, _ := renamed(t)
	i.Edit(noted("two", "again"))
	if _, err := i.Accounts.Erase(installationtest.WithTimeout(t), installation.NewRequest(), "acme"); err != nil {
		t.Fatal(err)
	}
	i.AwaitLevel()
	i.Run(history(auditor.HistoryQuery{Hash: "one"})).Has("note: erased -> erased\n")
	i.Run(history(auditor.HistoryQuery{Hash: "one", Format: "csv"})).Has(",note,erased,erased\n")
	i.Run(history(auditor.HistoryQuery{Hash: "one", Format: "ndjson"})).
		Has(`{"field":"note","before":"erased","after":"erased","erased":true}`)
	i.Run(at("two", "", late)).Has("note\terased\n")
}

// TestRestoreAndUndo undoes a batch, its undo, and the deletion of a link.
func TestRestoreAndUndo(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	link := i.Create(installationtest.Link("one"), installationtest.Link("two"))[0]
	batch := i.Edit(noted("one", "changed"), noted("two", "changed"))
	i.Edit(noted("two", "changed since"))
	var undone struct {
		Batch   string
		By      string `json:"undone_by"`
		Undone  int
		Refused []struct {
			Hash   string
			Fields []string
		}
	}
	err := i.JSON(&undone, undo(batch))
	if err == nil || undone.Batch != batch || undone.By == "" || undone.Undone != 1 || len(undone.Refused) != 1 ||
		undone.Refused[0].Hash != "two" || !slices.Equal(undone.Refused[0].Fields, []string{"note"}) {
		t.Errorf("undone is %+v, %v", undone, err)
	}
	p := i.Run(undo(batch))
	p.Fails("1 of 2 links are unchanged")
	p.Prints("hash\tleft as it is\tlink\ntwo\t")
	i.Run(undo(undone.By)).Has("1 links are as they were, by batch ")
	if out := i.Run(undo(undone.By)).Has(); out != "1 links are as they were, and were so already\n" {
		t.Errorf("the second undo of a batch prints %s", out)
	}
	i.Delete("one")
	i.Run(restore("one", new(int64(0)))).Has("hash\tlong_url\t", "one\t\"https://example.com/one\"\t")
	var restored struct {
		ID, Hash, Account string
		Position          uint64
	}
	i.Delete("one")
	if err := i.JSON(&restored, restore("one", nil)); err != nil || restored.ID != link.ID || restored.Hash != "one" ||
		restored.Account != i.Acme.Account.ID || restored.Position == 0 {
		t.Errorf("restored is %+v, %v", restored, err)
	}
	i.AwaitLevel()
	if shown, err := queries.New(i.DB).Redirect(t.Context(), "one"); err != nil || shown.Deleted ||
		shown.LongURL != "https://example.com/one" {
		t.Errorf("visitors get %+v, %v", shown, err)
	}
	i.Run(history(auditor.HistoryQuery{Hash: "one"})).Has("url.restored.v1", "\nby an operator, batch ")
	i.Run(undo(uuid.NewString())).Refused("no link was changed by a batch")
	i.Run(restore("none", nil)).Refused("none")
	i.Run(restore("one", new(int64(99)))).Refused("99")
}

// TestCutHistory checks that no command takes what is left of a hidden stream for the whole.
func TestCutHistory(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	i := installationtest.New(t)
	for n, way := range eventstoretest.Cuts() { //nolint:paralleltest // in one installation
		for _, family := range []string{events.StreamURL, events.StreamHash} {
			t.Run(way.Name+" of "+family, func(t *testing.T) {
				hash := fmt.Sprintf("%s%d", family, n)
				stream := events.StreamHash + hash
				if link := i.Create(installationtest.Link(hash))[0]; family == events.StreamURL {
					stream = events.LinkStream(link.ID)
				}
				edit := byHash(hash) // more than the first event is hidden
				edit.CustomHash = new(hash + "x")
				i.Edit(edit)
				edit = byHash(hash + "x")
				edit.CustomHash = &hash
				i.Edit(edit)
				way.Apply(t, i.Events.URL(), stream)
				for _, run := range []installationtest.Command{
					history(auditor.HistoryQuery{Hash: hash}), at(hash, "", late), restore(hash, new(int64(0))),
				} {
					p := i.Run(run)
					p.Fails("was cut in the event store", "linkledger audit verify lists what is cut")
					if p.Out != "" {
						t.Errorf("printed is %s", p.Out)
					}
				}
			})
		}
	}
}

func export(r auditor.ExportRequest) installationtest.Command {
	return func(ctx context.Context, o operator) error { return auditor.Export(ctx, o, r) }
}

func check(t *testing.T, name string) installationtest.Printed {
	t.Helper()
	return installationtest.Of(t, func(c console.Console) error { return auditor.CheckExport(name, c.Stdout) })
}

// isClosed checks that this process has a file not open any more.
func isClosed(t *testing.T, name string) {
	t.Helper()
	const descriptors = "/proc/self/fd"
	file, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir(descriptors)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range open {
		if other, err := os.Stat(filepath.Join(descriptors, entry.Name())); err == nil && os.SameFile(file, other) {
			t.Errorf("%s is still open", name)
		}
	}
}

// TestExport writes a file, continues half of it, and checks it.
func TestExport(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	i := installationtest.New(t)
	i.Create(installationtest.Link("one"))
	for _, format := range []string{"ndjson", "csv"} {
		t.Run(format, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "log")
			printed := i.Run(export(auditor.ExportRequest{Output: name, Format: format})).Has(" events, positions ")
			isClosed(t, name)
			_, root, _ := strings.Cut(strings.TrimSpace(printed), "root hash ")
			check(t, name).Has(root+": as its manifest says", name)
			whole, err := os.ReadFile(name)
			if err != nil || root == "" {
				t.Fatal(err, printed)
			}
			i.Run(export(auditor.ExportRequest{Output: name, Format: format})).Refused("exists")
			i.Run(export(auditor.ExportRequest{Resume: name})).Refused("is complete")
			write(t, name, string(whole[:len(whole)/2]))
			check(t, name).Fails("resume it")
			i.Run(export(auditor.ExportRequest{Resume: name})).Has("root hash " + root)
			isClosed(t, name)
			if resumed, err := os.ReadFile(name); err != nil || string(resumed) != string(whole) {
				t.Errorf("resumed to another file, %v\n%s", err, resumed)
			}
			write(t, name, strings.Replace(string(whole), "example.com", "example.net", 1))
			check(t, name).Fails("an event was changed")
		})
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := i.Run(export(auditor.ExportRequest{Account: "acme", From: from, To: late, Format: "ndjson"})).
		Has(`"url.created.v1"`, `"root":`)
	if strings.Contains(out, "root hash") {
		t.Errorf("an export to standard output is followed by\n%s", out)
	}
	check(t, "/nowhere").Refused("/nowhere")
	for text, r := range map[string]auditor.ExportRequest{ //nolint:paralleltest // in one installation
		"must be later": {From: from, To: from}, "in the future": {From: late},
		"leave out": {Resume: "x", Account: "acme"}, "no such file": {Resume: "/nowhere"},
		"There is no account": {Account: "none", Format: "ndjson"}, "/nowhere/x": {Output: "/nowhere/x"},
	} {
		i.Run(export(r)).Refused(text)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
