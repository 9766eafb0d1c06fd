// This file writes the data that TestUpgrade starts from: the data of a released version of the program, and its
// answers. make upgrade-data calls it once for each release.

package upgrades_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
	"linkledger/internal/pgserver/postgrestest"
)

// upgradeFolder has a folder for each released version.
const upgradeFolder = "../testdata/upgrade"

// The files of such a folder.
const (
	dataFile      = "data.tar.gz"     // data folder of dev without PostgreSQL: log, keys, spool
	dumpFile      = "postgres.sql.gz" // dump of PostgreSQL, as SQL that version 15 and later read
	answersFile   = "answers.json.gz" // see answers
	relationsFile = "relations.txt"   // tables and views, see postgrestest.Relations
)

var (
	upgradeVersion = flag.String(
		"upgrade-version", "", "version whose data TestWriteUpgradeData writes; none by default",
	)
	upgradeCommit = flag.String(
		"upgrade-commit", "", "commit of -upgrade-version; by default its tag",
	)
)

// answers are what a program answers about its data.
type answers struct {
	Keys      map[string]string `json:"keys"` // API keys of accounts, by user name
	Calls     []answeredCall    `json:"calls"`
	Visits    []answeredVisit   `json:"visits"`
	Histories map[string]any    `json:"histories"` // by hash, as operators see them
	PublicKey string            `json:"public_key"`
	Head      string            `json:"head"`   // signed
	Proofs    map[string]string `json:"proofs"` // by hash, on the head
}

type answeredCall struct {
	Username string `json:"username"`
	Path     string `json:"path"`
	Answer   any    `json:"answer"`
}

type answeredVisit struct {
	Hash     string `json:"hash"`
	Status   int    `json:"status"`
	Location string `json:"location"`
}

// TestWriteUpgradeData writes the folder of a version: the program of that version makes it.
func TestWriteUpgradeData(t *testing.T) {
	t.Parallel()
	if *upgradeVersion == "" {
		t.Skip("writes files: make upgrade-data calls it")
	}
	commit := *upgradeCommit
	if commit == "" {
		commit = *upgradeVersion
	}
	left := leaveData(t, buildCommit(t, commit), 0)
	left.save(t, filepath.Join(upgradeFolder, *upgradeVersion))
}

// buildCommit builds the program of a commit.
func buildCommit(t *testing.T, commit string) string {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "linkledger")
	e2etest.Shell(t, fmt.Sprintf(
		"mkdir %[1]s/source && git -C .. archive %[2]s | tar -x -C %[1]s/source && cd %[1]s/source && "+
			"CGO_ENABLED=0 go build -trimpath -o %[3]s ./cmd/linkledger", folder, commit, binary,
	))
	return binary
}

// leftData is what a program has left.
type leftData struct {
	folder    string // of dev, without PostgreSQL
	dump      string
	relations map[string]string
	answers   answers
}

// leaveData lets a program make links with all that they can have, and many more links. It returns
// what the program leaves, and what it answers after a restart.
func leaveData(t *testing.T, program string, many int) leftData {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	e2etest.CopyCluster(t, filepath.Join(folder, "postgres"))
	at := installtest.FreeAddress(t)
	flags := append([]string{"--base-url=https://sho.rt", "--listen=" + at}, asPeople(t, program)...)
	first := e2etest.StartDevProgram(t, program, folder, flags...)
	f := filler{
		t: t, program: program, where: []string{"--data", folder}, base: "http://" + at,
		keys: map[string]string{e2etest.DemoUser: first.Key},
	}
	f.fill()
	f.fillMany(many)
	first.Interrupt()

	again := e2etest.StartDevProgram(t, program, folder, flags...)
	left := leftData{folder: filepath.Join(t.TempDir(), "left"), answers: f.answers()}
	again.Interrupt()
	left.dump, left.relations = dumpDatabase(t, folder)
	e2etest.Shell(t, fmt.Sprintf("mkdir %[2]s && tar -C %[1]s --exclude=./postgres -c . | tar -C %[2]s -x", folder, left.folder))
	return left
}

func (l leftData) save(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	e2etest.Shell(t, fmt.Sprintf(
		"tar -C %s --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . | gzip -n9 >%s", l.folder,
		filepath.Join(folder, dataFile),
	))
	answers, err := json.MarshalIndent(l.answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var relations strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.relations)) {
		fmt.Fprintf(&relations, "%s: %s\n", name, l.relations[name])
	}
	for name, content := range map[string][]byte{
		dumpFile: compressed(t, []byte(l.dump)), answersFile: compressed(t, answers),
		relationsFile: []byte(relations.String()),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func compressed(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// versionSpecific are the lines of a dump that not every version of PostgreSQL or not every client
// reads.
var versionSpecific = regexp.MustCompile(`(?m)^(\\.*|SET transaction_timeout = .*)\n`)

// dumpDatabase returns the database of a stopped dev as SQL, and its relations.
func dumpDatabase(t *testing.T, folder string) (dump string, relations map[string]string) {
	t.Helper()
	withDatabase(t, folder, func(dsn string) {
		out, err := exec.CommandContext(
			t.Context(), "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--no-comments", "-d", dsn,
		).Output()
		if err != nil {
			t.Fatalf("pg_dump: %v", err)
		}
		dump = versionSpecific.ReplaceAllString(string(out), "")
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if relations, err = postgrestest.Relations(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	return dump, relations
}

// withDatabase starts the PostgreSQL in the data folder of a stopped dev.
func withDatabase(t *testing.T, folder string, use func(dsn string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
	defer cancel()
	server, err := pgserver.Start(ctx, pgserver.Config{
		Dir: filepath.Join(folder, "postgres"), BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	use(server.DSN())
	if err := server.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}

// filler calls a running dev of any version.
type filler struct {
	t       *testing.T
	program string
	where   []string // flags of commands that name the installation
	base    string
	keys    map[string]string
}

// fill makes links, and changes them in every way that version 0.1.0 has.
func (f *filler) fill() {
	f.t.Helper()
	for _, username := range []string{"ada", "gone"} {
		var opened e2etest.OpenedAccount
		if err := json.Unmarshal(
			[]byte(f.operate("account", "create", "--username", username, "--json")), &opened,
		); err != nil {
			f.t.Fatal(err)
		}
		f.keys[username] = opened.APIKey
		f.call(username, "POST", "/urls", fmt.Sprintf(`{"urls":[
			{"long_url":"https://example.com/%[1]s","custom_hash":"%[1]s","note":"of %[1]s","tags":["%[1]s"]},
			{"long_url":"https://example.com/%[1]s/2"}]}`, username))
	}
	f.call(e2etest.DemoUser, "POST", "/urls", `{"urls":[
		{"long_url":"https://go.dev/doc/","custom_hash":"go","tags":["docs","code"],"note":"Größe 🎉"},
		{"long_url":"https://www.postgresql.org/docs/","custom_hash":"pg","tags":["docs","sql"],"email_stats":true},
		{"long_url":"https://example.com/once","custom_hash":"once","max_clicks":2},
		{"long_url":"https://example.com/past","custom_hash":"past","expiration_date":"2999-12-31","note":"late"},
		{"long_url":"https://example.com/deleted","custom_hash":"deleted","tags":["code"]},
		{"long_url":"https://example.com/back","custom_hash":"back","note":"comes back"},
		{"long_url":"https://example.com/undone","custom_hash":"undone","tags":["code"]},
		{"long_url":"https://example.com/any"},{"long_url":"https://example.com/any"}]}`)
	f.call(e2etest.DemoUser, "POST", "/urls?disable_long_url_duplicates=1", `{"urls":[{"long_url":"https://example.com/any"}]}`)
	f.visit("go", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "https://news.example/")
	f.visit("go", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "+
		"Version/17.5 Mobile/15E148 Safari/604.1", "")
	f.visit("go", "Googlebot/2.1", "")
	for range 3 {
		f.visit("once", "one", "")
		f.visit("pg", "one", "")
		f.visit("ada", "one", "https://ada.example/page")
		f.visit("gone", "two", "")
	}
	f.call(e2etest.DemoUser, "GET", "/stats/pg", "") // waits for the clicks
	f.call(e2etest.DemoUser, "DELETE", "/stats/pg", "")
	f.visit("pg", "two", "")
	f.call(e2etest.DemoUser, "PATCH", "/urls/pg", `{"urls":[{"custom_hash":"postgres","note":"the manual","tags":["-sql","+manual"]}]}`)
	f.call(e2etest.DemoUser, "PATCH", "/urls/go", `{"urls":[{"long_url":"https://go.dev/ref/spec","max_clicks":1000}]}`)
	f.call(e2etest.DemoUser, "PATCH", "/urls?hashes=past,once", `{"urls":[{"tags":["+limited"]}]}`)
	f.call(e2etest.DemoUser, "POST", "/tags", `{"label":"unused"}`)
	f.call(e2etest.DemoUser, "PATCH", "/tags/code", `{"label":"source code"}`)
	f.call(e2etest.DemoUser, "DELETE", "/urls/deleted", "")
	f.call(e2etest.DemoUser, "DELETE", "/urls/back", "")
	f.call(e2etest.DemoUser, "POST", "/urls/back/restore", "")
	undone := f.call(e2etest.DemoUser, "PATCH", "/urls?tags=docs", `{"urls":[{"note":"to be undone"}]}`)
	f.call(e2etest.DemoUser, "POST", "/batches/"+undone+"/undo", "")
	f.call(e2etest.DemoUser, "DELETE", "/stats/go", "")
	f.visit("go", "three", "https://news.example/2")
	f.visit("postgres", "three", "")
	f.operate("account", "edit", "--username", "ada", "--plan", "pro", "--expires", "2999-01-31")
	f.keys["ada"] = regexp.MustCompile(`lk_[\w-]+`).FindString(
		f.operate("account", "rotate-key", "--username", "ada", "--json"),
	)
	f.operate("account", "erase", "gone")
}

// fillMany makes links in batches of 50, and visits each tenth of them.
func (f *filler) fillMany(n int) {
	f.t.Helper()
	for batch := range n / 50 {
		var items []string
		for i := range 50 {
			items = append(items, fmt.Sprintf(
				`{"long_url":"https://example.com/%d/%d","custom_hash":"m%d-%d","note":"n%d","tags":["many","b%d"]}`,
				batch, i, batch, i, i, batch,
			))
		}
		f.call(e2etest.DemoUser, "POST", "/urls", `{"urls":[`+strings.Join(items, ",")+`]}`)
		for i := range 5 {
			f.visit(fmt.Sprintf("m%d-%d", batch, i), "many", "")
		}
	}
}

// call makes a call of the API that succeeds, and returns the id of its batch.
func (f *filler) call(username, method, path, body string) (batch string) {
	f.t.Helper()
	request, err := e2etest.APIRequest(f.t.Context(), f.base, username, f.keys[username], method, path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Error struct{ Code int }
		URLs  []struct{ Error struct{ Code int } }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		f.t.Fatal(err)
	}
	failed := answer.Error.Code
	for _, item := range answer.URLs {
		failed = max(failed, item.Error.Code)
	}
	if failed != 0 {
		f.t.Fatalf("%s %s: %d: %+v", method, path, response.StatusCode, answer)
	}
	return response.Header.Get("X-Batch-Id")
}

// asPeople returns the flags with which a program takes the visitors of a filler for people. Older
// programs need none: they know fewer robots.
func asPeople(t *testing.T, program string) []string {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), program, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(help), "--agents=") {
		return nil
	}
	file := filepath.Join(t.TempDir(), "agents.txt")
	if err := os.WriteFile(file, []byte("[people]\none\ntwo\nthree\nmany\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--agents=" + file}
}

func (f *filler) visit(hash, agent, referrer string) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.base+"/"+hash, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Referer", referrer)
	response, err := e2etest.NoRedirects.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		f.t.Fatalf("visit of %s: %s", hash, response.Status)
	}
}

func (f *filler) operate(args ...string) string {
	f.t.Helper()
	process := exec.CommandContext(f.t.Context(), f.program, append(args, f.where...)...)
	var log bytes.Buffer
	process.Stderr = &log
	out, err := process.Output()
	if err != nil {
		f.t.Fatalf("%v: %v: %s", args, err, log.String())
	}
	return string(out)
}

// known are the hashes that fill makes, including the former hashes of links.
var known = []string{"go", "pg", "postgres", "once", "past", "deleted", "back", "undone", "ada", "gone", "never"}

// answers returns what the program answers.
func (f *filler) answers() answers {
	f.t.Helper()
	a := answers{Keys: f.keys, Histories: make(map[string]any), Proofs: make(map[string]string)}
	for _, username := range []string{e2etest.DemoUser, "ada"} {
		paths := []string{"/account", "/tags", "/urls?order_by=clicks&limit=20", "/urls?order_by=-created&limit=1000"}
		for _, query := range []string{
			"tags=docs", "tags=visited%26~limited", "search=example", "search=Gr%C3%B6%C3%9Fe",
			"at=" + time.Now().UTC().Format(time.RFC3339Nano),
		} {
			paths = append(paths, "/urls?limit=1000&"+query)
		}
		for _, hash := range known {
			paths = append(paths, "/urls/"+hash, "/stats/"+hash, "/urls/"+hash+"/dimensions", "/urls/"+hash+"/history?limit=1000")
		}
		for _, path := range paths {
			a.Calls = append(a.Calls, answeredCall{username, path, f.read(username, path)})
		}
	}
	for _, hash := range known {
		a.Visits = append(a.Visits, f.look(hash))
		if hash == "never" {
			continue
		}
		var history any
		if err := json.Unmarshal([]byte(f.operate("audit", "history", hash, "--format=json", "--clicks")), &history); err != nil {
			f.t.Fatal(err)
		}
		a.Histories[hash] = history
	}
	signing := filepath.Join(f.t.TempDir(), "signing.key")
	printed, err := exec.CommandContext(f.t.Context(), f.program, "audit", "key", signing, "--name=sho.rt").Output()
	if err != nil {
		f.t.Fatalf("audit key: %v", err)
	}
	key, err := os.ReadFile(signing)
	if err != nil {
		f.t.Fatal(err)
	}
	a.PublicKey = strings.TrimSpace(string(printed))
	a.Head = f.operate("audit", "checkpoint", "--signing-key", strings.TrimSpace(string(key)))
	for _, hash := range []string{"go", "postgres", "ada", "gone"} {
		a.Proofs[hash] = f.prove(a, hash)
	}
	return a
}

// prove returns the proof of a link on the head of answers.
func (f *filler) prove(a answers, hash string) string {
	f.t.Helper()
	head := filepath.Join(f.t.TempDir(), "head")
	if err := os.WriteFile(head, []byte(a.Head), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return f.operate("audit", "prove", hash, "--public-key", a.PublicKey, "--checkpoint", head)
}

// read returns the response to a call that only reads, also if it is refused.
func (f *filler) read(username, path string) any {
	f.t.Helper()
	answer, err := e2etest.CallAs(f.t.Context(), f.base, username, f.keys[username], "GET", path, "")
	if answer == nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	return withoutDay(answer)
}

// withoutDay removes what counts the calls of the day and the links of the month.
func withoutDay(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "today_api_calls")
		delete(value, "month_urls")
		for _, field := range value {
			withoutDay(field)
		}
	case []any:
		for _, item := range value {
			withoutDay(item)
		}
	}
	return value
}

// look asks where a short link leads, which counts no click.
func (f *filler) look(hash string) answeredVisit {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodHead, f.base+"/"+hash, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	response, err := e2etest.NoRedirects.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	_ = response.Body.Close()
	return answeredVisit{hash, response.StatusCode, response.Header.Get("Location")}
}
