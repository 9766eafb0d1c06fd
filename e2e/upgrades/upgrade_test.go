// This file starts the program on the data of each released version, and of commits that have not been released, and
// compares its answers with the answers of that version.

package upgrades_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/soak"
)

var upgradeFrom = flag.String(
	"upgrade-from", "", "commits whose data TestUpgradeFromCommits starts from, separated by commas",
)

// TestReleasesHaveUpgradeData fails if a released version has left no data for TestUpgrade.
func TestReleasesHaveUpgradeData(t *testing.T) {
	t.Parallel()
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	released := regexp.MustCompile(`(?m)^## (v\S+)`).FindAllStringSubmatch(string(changelog), -1)
	if len(released) == 0 {
		t.Error("the changelog has no version")
	}
	for _, version := range released {
		for _, name := range []string{dataFile, dumpFile, answersFile, relationsFile} {
			if _, err := os.Stat(filepath.Join(upgradeFolder, version[1], name)); err != nil {
				t.Errorf("%v: write it with make upgrade-data VERSION=%s", err, version[1])
			}
		}
	}
}

// TestUpgrade starts the program on the data of each released version.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(upgradeFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			testUpgrades(t, func(t *testing.T) leftData { t.Helper(); return readLeft(t, folder) }, soak.N(2, 20))
		})
	}
}

// TestUpgradeFromCommits starts the program on data of commits: make upgrade calls it.
func TestUpgradeFromCommits(t *testing.T) {
	t.Parallel()
	if *upgradeFrom == "" {
		t.Skip("builds other commits: make upgrade calls it")
	}
	for commit := range strings.SplitSeq(*upgradeFrom, ",") {
		t.Run(commit, func(t *testing.T) {
			t.Parallel()
			older := buildCommit(t, commit)
			left := leaveData(t, older, 1000)
			testUpgrades(t, func(t *testing.T) leftData {
				t.Helper()
				return left.copied(t)
			}, 1000)
			t.Run("older program", func(t *testing.T) {
				t.Parallel()
				testOlderProgram(t, older, left.copied(t))
			})
		})
	}
}

// testUpgrades upgrades copies of the data: with dev, with serve, and with a dev that is killed.
func testUpgrades(t *testing.T, data func(t *testing.T) leftData, kills int) {
	t.Helper()
	for name, start := range map[string]func(*testing.T, leftData) *upgraded{
		"dev": func(t *testing.T, left leftData) *upgraded {
			t.Helper()
			return upgradeDev(t, left, 0, 0)
		},
		"killed dev": func(t *testing.T, left leftData) *upgraded {
			t.Helper()
			return upgradeDev(t, left, kills, 100*time.Millisecond)
		},
		"dev killed each second": func(t *testing.T, left leftData) *upgraded {
			t.Helper()
			return upgradeDev(t, left, kills, 0)
		},
		"serve": upgradeServe,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := data(t)
			u := start(t, left)
			u.answersAsBefore(left.answers)
			u.goesOn()
		})
	}
}

// readLeft reads the folder of a version.
func readLeft(t *testing.T, folder string) leftData {
	t.Helper()
	left := leftData{folder: filepath.Join(t.TempDir(), "left"), dump: string(uncompressed(t, folder, dumpFile))}
	e2etest.Shell(t, fmt.Sprintf(
		"mkdir %[1]s && tar -C %[1]s --no-same-owner -xzf %[2]s", left.folder, filepath.Join(folder, dataFile),
	))
	if err := json.Unmarshal(uncompressed(t, folder, answersFile), &left.answers); err != nil {
		t.Fatal(err)
	}
	return left
}

func uncompressed(t *testing.T, folder, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// copied returns a copy of the data.
func (l leftData) copied(t *testing.T) leftData {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "left")
	e2etest.Shell(t, fmt.Sprintf("cp -a %s %s", l.folder, folder))
	l.folder = folder
	return l
}

// restore puts the dump into the PostgreSQL of the folder of a dev.
func (l leftData) restore(t *testing.T) {
	t.Helper()
	e2etest.CopyCluster(t, filepath.Join(l.folder, "postgres"))
	withDatabase(t, l.folder, func(dsn string) {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.PgConn().Exec(t.Context(), l.dump).ReadAll(); err != nil {
			t.Fatalf("load the dump: %v", err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// upgraded is a running installation of this version on data of another one.
type upgraded struct {
	filler

	admin string
}

// upgradeDev starts dev on the data. It kills the process at most some times, each time later by a step, or a second
// after its start if there is none, until it is ready.
func upgradeDev(t *testing.T, left leftData, kills int, step time.Duration) *upgraded {
	t.Helper()
	left.restore(t)
	t.Cleanup(func() { e2etest.RemoveAll(t, left.folder) })
	at, admin := installtest.FreeAddress(t), installtest.FreeAddress(t)
	flags := append([]string{
		"dev", "--data", left.folder, "--base-url=https://sho.rt", "--listen=" + at, "--admin-listen=" + admin,
	}, asPeople(t, e2etest.Program)...)
	u := &upgraded{admin: "http://" + admin, filler: filler{
		t: t, program: e2etest.Program, where: []string{"--data", left.folder}, base: "http://" + at,
		keys: left.answers.Keys,
	}}
	for kill := range kills + 1 {
		process := installtest.StartChild(t, e2etest.Program, append(flags, "--eventstore-listen="+installtest.FreeAddress(t))...)
		within := e2etest.StartTimeout
		if kill < kills {
			if within = time.Duration(kill+1) * step; step == 0 {
				within = time.Second
			}
		}
		if u.ready(process, within) {
			t.Logf("ready after %d kills", kill)
			break
		}
		process.Kill()
	}
	return u
}

// upgradeServe starts serve on the data.
func upgradeServe(t *testing.T, left leftData) *upgraded {
	t.Helper()
	left.restore(t)
	key, err := os.ReadFile(filepath.Join(left.folder, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	master := "--master-key=" + strings.TrimSpace(string(key))
	i := &installtest.Installation{
		T: t, Folder: left.folder, Program: e2etest.Program,
		Flags:        append([]string{"--base-url=https://sho.rt", master}, asPeople(t, e2etest.Program)...),
		StoreAddress: installtest.FreeAddress(t), Base: "http://" + installtest.FreeAddress(t), Admin: "http://" + installtest.FreeAddress(t),
	}
	i.StartStore()
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	i.StartService()
	u := &upgraded{admin: i.Admin, filler: filler{
		t: t, program: e2etest.Program, where: append(i.Backends(), master), base: i.Base, keys: left.answers.Keys,
	}}
	if !u.ready(i.Service, e2etest.StartTimeout) {
		t.Fatal("not ready in time")
	}
	return u
}

// ready waits until the process is ready, or until some time is over. Meanwhile it calls the API,
// which has to answer: with 503 until it can.
func (u *upgraded) ready(process *installtest.Child, within time.Duration) bool {
	u.t.Helper()
	late := time.After(within)
	client := http.Client{Timeout: e2etest.StartTimeout}
	for {
		response, err := client.Get(u.admin + "/health/ready")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return true
			}
			u.answersInTime()
		}
		select {
		case <-late:
			return false
		case <-process.Ended:
			u.t.Fatalf("the program ended before it was ready:\n%s", process.Output.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// callTimeout is what the service gives to a call.
const callTimeout = 10 * time.Second

// answersInTime makes a call while the program is not ready.
func (u *upgraded) answersInTime() {
	u.t.Helper()
	request, err := e2etest.APIRequest(u.t.Context(), u.base, e2etest.DemoUser, u.keys[e2etest.DemoUser], "GET", "/urls", "")
	if err != nil {
		u.t.Fatal(err)
	}
	client := http.Client{Timeout: callTimeout}
	response, err := client.Do(request)
	if err != nil {
		u.t.Errorf("a call while the program starts: %v", err)
		return
	}
	_ = response.Body.Close()
	if code := response.StatusCode; code != http.StatusOK && code != http.StatusServiceUnavailable {
		u.t.Errorf("a call while the program starts is answered %d", code)
	}
}

// answersAsBefore checks that this version answers what the other one did, and that the read models
// and the log are right.
func (u *upgraded) answersAsBefore(before answers) {
	t := u.t
	t.Helper()
	for _, call := range before.Calls {
		u.wantContained(call.Username+" "+call.Path, call.Answer, u.read(call.Username, call.Path))
	}
	for _, visit := range before.Visits {
		if got := u.look(visit.Hash); got != visit {
			t.Errorf("visit: got %+v, want %+v", got, visit)
		}
	}
	for hash, want := range before.Histories {
		var got any
		if err := json.Unmarshal([]byte(u.operate("audit", "history", hash, "--format=json", "--clicks")), &got); err != nil {
			t.Fatal(err)
		}
		u.wantContained("history of "+hash, want, got)
	}
	head := filepath.Join(t.TempDir(), "head")
	if err := os.WriteFile(head, []byte(before.Head), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := u.operate(
		"audit", "verify", "--public-key", before.PublicKey, "--checkpoint", head,
	); !strings.Contains(out, "signed heads that fit: 1") {
		t.Errorf("verify: %s", out)
	}
	for hash, want := range before.Proofs {
		if got := u.prove(before, hash); got != want {
			t.Errorf("proof of %s: got\n%s\nwant\n%s", hash, got, want)
		}
		file := filepath.Join(t.TempDir(), "proof")
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, log, code := e2etest.Command(t, "audit", "verify-proof", file, "--public-key", before.PublicKey); code != 0 {
			t.Errorf("the proof of %s: %s%s", hash, out, log)
		}
	}
	u.verified()
}

func (u *upgraded) verified() {
	u.t.Helper()
	if out := u.operate("projections", "verify", "--all"); strings.Count(out, " 0 different\n") != strings.Count(out, "\n") {
		u.t.Errorf("verify: %s", out)
	}
}

// goesOn changes links of the other version, and checks that their visitors are known.
func (u *upgraded) goesOn() {
	u.t.Helper()
	before := u.stats("postgres")
	u.visit("postgres", "three", "")
	after := u.stats("postgres")
	if after["total_clicks"] != before["total_clicks"].(float64)+1 ||
		after["unique_clicks"] != before["unique_clicks"] {
		u.t.Errorf("clicks after a visit of a known visitor: %v, before: %v", after, before)
	}
	u.call(e2etest.DemoUser, "PATCH", "/urls/postgres", `{"urls":[{"note":"upgraded","custom_hash":"newest"}]}`)
	u.call("ada", "POST", "/urls", `{"urls":[{"long_url":"https://example.com/new","note":"new"}]}`)
	u.call(e2etest.DemoUser, "POST", "/urls/deleted/restore", "")
	u.call(e2etest.DemoUser, "DELETE", "/urls/go", "")
	u.verified()
}

func (u *upgraded) stats(hash string) map[string]any {
	u.t.Helper()
	answer, err := e2etest.CallAs(u.t.Context(), u.base, e2etest.DemoUser, u.keys[e2etest.DemoUser], "GET", "/stats/"+hash, "")
	if err != nil {
		u.t.Fatal(err)
	}
	return answer["stats"].([]any)[0].(map[string]any)
}

// wantContained checks that an answer has what an older one has. It may have more fields.
func (u *upgraded) wantContained(what string, want, got any) {
	u.t.Helper()
	if difference := lacks("", want, got); difference != "" {
		u.t.Errorf("%s: %s", what, difference)
	}
}

// lacks returns what got lacks of want, or nothing.
func lacks(at string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			break
		}
		for name, value := range want {
			if difference := lacks(at+"."+name, value, fields[name]); difference != "" {
				return difference
			}
		}
		return ""
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			break
		}
		for i, item := range want {
			if difference := lacks(fmt.Sprint(at, "[", i, "]"), item, items[i]); difference != "" {
				return difference
			}
		}
		return ""
	default:
		if reflect.DeepEqual(want, got) {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v, was %v", at, got, want)
}

// databaseIsNewer is how the older programs say why they do not start, each in its own words.
var databaseIsNewer = regexp.MustCompile(`database belongs to (Linkledger|a newer version)`)

// testOlderProgram upgrades data, and starts the program that left it again, beside this version.
func testOlderProgram(t *testing.T, older string, left leftData) {
	t.Helper()
	u := upgradeServe(t, left)
	process := installtest.StartChild(t, older, slices.Concat([]string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", t.TempDir(),
	}, u.where)...)
	select {
	case <-process.Ended:
	case <-time.After(e2etest.StartTimeout):
		t.Fatal("the older program runs")
	}
	if out := process.Output.String(); process.Process.ProcessState.ExitCode() != e2etest.ExitUsage ||
		!databaseIsNewer.MatchString(out) {
		t.Errorf("the older program ended with %v:\n%s", process.Process.ProcessState, out)
	}
	u.answersAsBefore(left.answers)
}
