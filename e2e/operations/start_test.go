package operations_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
)

// signInByLink presses the button of a one-time link, and returns where a new session begins; "": there is none.
func signInByLink(t *testing.T, link string) string {
	t.Helper()
	response, err := e2etest.NoRedirects.Post(link, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if len(response.Cookies()) == 0 {
		return ""
	}
	return response.Header.Get("Location")
}

// TestTour runs the printed curl lines as a user would, and checks that they do what the greeting
// says and that a second start finds all data. Port 5432 is in use, which must not matter.
func TestTour(t *testing.T) {
	t.Parallel()
	if blocker, err := net.Listen("tcp", "127.0.0.1:5432"); err == nil {
		defer func() { _ = blocker.Close() }()
	} // otherwise another process uses the port, which serves the same purpose
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDevProgram(t, e2etest.Program, folder) // with initdb

	_, lines, found := strings.Cut(d.Greeting, "Try it, in another terminal:\n")
	lines, _, ended := strings.Cut(lines, "Ctrl-C")
	if !found || !ended {
		t.Fatalf("no curl lines in\n%s", d.Greeting)
	}
	link := regexp.MustCompile(`http://\S+/console/sign-in/\S+`).FindString(d.Greeting)
	if first, again := signInByLink(t, link), signInByLink(t, link); first != "/console" || again != "/console/sign-in" {
		t.Errorf("the link leads to %q, and again to %q", first, again)
	}
	reads, writes, divided := strings.Cut(lines, "# edit it")
	if !divided {
		t.Fatalf("no edit in\n%s", lines)
	}
	script := strings.ReplaceAll(reads, "\n  ", "\n")
	out := e2etest.Shell(t, script)
	for _, want := range []string{
		`"hash":"pg"`, `Location: https://www.postgresql.org/docs/`, `"total_clicks":1`, `"total_count":2`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	d.Interrupt()

	again := e2etest.StartDev(t, folder)
	again.Key = d.Key
	stats := again.Call("GET", "/stats/pg", "")["stats"].([]any)[0].(map[string]any)
	if stats["total_clicks"] != 1.0 {
		t.Errorf("after the restart: %v", stats)
	}
	edits := strings.ReplaceAll(
		strings.ReplaceAll("# edit it"+writes, "\n  ", "\n"), d.Base, again.Base,
	)
	if out := e2etest.Shell(t, edits); !strings.Contains(out, `"tags":["docs","manual"]`) {
		t.Errorf("response to the edit:\n%s", out)
	}
	if left := again.Call("GET", "/urls", "")["page"].(map[string]any)["total_count"]; left != 1.0 {
		t.Errorf("%v links are left after one of two was deleted", left)
	}
	again.Interrupt()
}

// TestSecretsAreForTerminals checks that a first start leaves no key in a journal, and names the commands that print one.
func TestSecretsAreForTerminals(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	e2etest.CopyCluster(t, filepath.Join(folder, "postgres"))
	d := e2etest.StartDevTo(t, os.Pipe, e2etest.Program, folder)
	for _, secret := range []string{"lk_", "/console/sign-in/"} {
		if strings.Contains(d.Greeting, secret) {
			t.Errorf("%s in\n%s", secret, d.Greeting)
		}
	}
	for _, want := range []string{"account rotate-key --username demo", "console link --username demo"} {
		if !strings.Contains(d.Greeting, want) {
			t.Errorf("no %s in\n%s", want, d.Greeting)
		}
		out := e2etest.Operator(t, folder, strings.Fields(want)...)
		if !strings.Contains(out, "lk_") && !strings.Contains(out, "/console/sign-in/") {
			t.Errorf("%s prints %s", want, out)
		}
	}
	d.Interrupt()
}

// TestConsoleLink signs in by a link of a new account, at the address that dev listens on.
func TestConsoleLink(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	e2etest.Operator(t, folder, "account", "create", "--username", "ada", "--plan", "pro")
	var made struct{ Link string }
	out := e2etest.Operator(t, folder, "console", "link", "--username", "ada", "--operator", "--json")
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if to := signInByLink(t, made.Link); !strings.HasPrefix(made.Link, d.Base+"/console/sign-in/") || to != "/console" {
		t.Errorf("%s leads to %q", made.Link, to)
	}
	d.Interrupt()
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	free := []string{"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0"}
	tests := map[string]struct {
		args []string
		env  []string
		want string
	}{
		"unknown command": {args: []string{"fly"}, want: "linkledger --help"},
		"unknown flag":    {args: []string{"dev", "--fast"}, want: "--fast"},
		"no event store":  {args: []string{"serve"}, want: "--eventstore (LINKLEDGER_EVENTSTORE)"},
		"no database": {
			args: []string{"serve", "--eventstore=esdb://127.0.0.1:1?tls=false"},
			want: "--database (LINKLEDGER_DATABASE)",
		},
		"no such role": {
			args: []string{"serve", "--eventstore=esdb://x", "--database=postgres://x", "--roles=cook"}, want: "cook",
		},
		"not a store": {
			args: []string{"serve", "--eventstore=http://x", "--database=postgres://x"}, want: "--eventstore",
		},
		"not an address": {args: []string{"dev", "--listen=8080"}, want: "--listen (LINKLEDGER_LISTEN)"},
		"not an address, env": {
			args: []string{"dev"}, env: []string{"LINKLEDGER_ADMIN_LISTEN=here"},
			want: "--admin-listen (LINKLEDGER_ADMIN_LISTEN)",
		},
		"not a base URL":     {args: []string{"dev", "--base-url=sho.rt"}, want: "--base-url"},
		"base URL with path": {args: []string{"dev", "--base-url=https://sho.rt/x"}, want: "--base-url"},
		"port in use": {
			args: []string{"dev", "--listen=" + taken.Addr().String()},
			want: "choose another with --listen (LINKLEDGER_LISTEN)",
		},
		"data is a file": {
			args: append([]string{"dev", "--data=" + file}, free...), want: "--data (LINKLEDGER_DATA)",
		},
		"no PostgreSQL": {
			args: append([]string{"dev", "--data=" + t.TempDir(), "--postgres-bin=/nowhere"}, free...),
			want: "PostgreSQL",
		},
		"store: data a file": {args: []string{"eventstore", "--listen=127.0.0.1:0", "--data=" + file}, want: file},
		"no blocked hosts": {
			args: append([]string{"dev", "--data=" + t.TempDir(), "--blocked-hosts=/nowhere"}, free...),
			want: "--blocked-hosts",
		},
		"no countries": {
			args: append([]string{"dev", "--data=" + t.TempDir(), "--countries=/nowhere"}, free...),
			want: "--countries",
		},
		"no former key": {
			args: append(
				[]string{"dev", "--data=" + t.TempDir(), "--visitor-key=b", "--former-visitor-key=a"}, free...,
			),
			want: "--former-visitor-key",
		},
		"the same key twice": {args: []string{"dev", "--former-visitor-key=visitor"}, want: "--former-visitor-key"},
		"no name of a key": {
			args: []string{"dev"}, env: []string{"LINKLEDGER_VISITOR_KEY=a b"}, want: "--visitor-key",
		},
		"a plan without name": {args: []string{"dev", "--plans=urls=1"}, want: "--plans"},
		"an unknown limit": {
			args: []string{"dev"}, env: []string{"LINKLEDGER_PLANS=free:urls=5,links=1"}, want: "month-urls=N",
		},
		"a limit of nothing": {args: []string{"serve", "--plans=free:urls=0"}, want: "leave the limit out"},
		"a limit twice":      {args: []string{"serve", "--plans=free:urls=1,urls=2"}, want: "each once"},
		"a plan twice":       {args: []string{"serve", "--plans=free:urls=1;free:urls=2"}, want: "twice"},
		"no user":            {args: []string{"eventstore", "prepare", "--eventstore=esdb://127.0.0.1:1?tls=false"}, want: "--user"},
		"no such format":     {args: []string{"audit", "history", "one", "--format=xml"}, want: "xml"},
		"no batch":           {args: []string{"audit", "undo", "x"}, want: "x"},
		"not a time":         {args: []string{"audit", "export", "--from=yesterday"}, want: "2026-01-31"},
		"no running dev": {
			args: []string{"account", "list", "--data=" + t.TempDir()}, want: "no linkledger dev runs",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), e2etest.Program, test.args...)
			command.Env = append(os.Environ(), test.env...)
			out, err := command.CombinedOutput()
			e2etest.WantOneLine(t, out, err, test.want)
		})
	}
}

func TestTwoProcessesOnOneFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	out, err := exec.CommandContext(t.Context(), e2etest.Program, "dev", "--data="+folder,
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0").CombinedOutput()
	e2etest.WantOneLine(t, out, err, "events")
	d.Call("GET", "/account", "") // the first process is not affected
	d.Interrupt()
}
