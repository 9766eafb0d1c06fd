package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"linkledger/e2e/faultydisk"
	"linkledger/internal/pgserver"
)

// mainPackage is the program that the tests build and start.
const mainPackage = "linkledger/cmd/linkledger"

// program is the real binary, built once.
var program string

// Exit codes of the program.
const (
	exitFailed = 1 // something went wrong while running
	exitUsage  = 2 // the configuration or the machine must be changed
)

// demoUser is the account that dev creates at its first start.
const demoUser = "demo"

func TestMain(m *testing.M) {
	faultydisk.Serve()
	if filepath.Base(os.Args[0]) == "curl" {
		if err := curl(os.Args[1:], os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	flag.Parse()
	if testing.Short() { // all of these tests start processes
		return
	}
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "linkledger-test-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		program = filepath.Join(folder, "linkledger")
		if err := build(program); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// build builds the program with the settings of make build, so that both share Go's cache.
func build(binary string, flags ...string) error {
	command := exec.Command("go", append([]string{"build", "-trimpath", "-o", binary}, append(flags, mainPackage)...)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// startTimeout bounds the start of a process. It is generous because many processes start at once.
const startTimeout = 2 * time.Minute

// dev is a running linkledger dev.
type dev struct {
	t        *testing.T
	process  *exec.Cmd
	greeting string
	base     string
	admin    string
	key      string
	ended    chan struct{}
	output   *bytes.Buffer // of standard error; valid once ended
}

var greetingLine = regexp.MustCompile(`(?m)^  (API|health|API key)  +(\S+)$`)

// startDev starts the real program on a folder and waits for its greeting. A new folder gets a copy
// of one empty PostgreSQL cluster, because initdb takes three quarters of the time of a first start.
func startDev(t *testing.T, folder string, flags ...string) *dev {
	t.Helper()
	if _, err := os.Stat(folder); os.IsNotExist(err) {
		copyCluster(t, filepath.Join(folder, "postgres"))
	}
	return startDevProgram(t, program, folder, flags...)
}

// removeAll removes the data folder of a process that was killed. Its PostgreSQL ends by itself,
// and may write until then.
func removeAll(t *testing.T, folder string) {
	t.Helper()
	late := time.After(startTimeout)
	for {
		err := os.RemoveAll(folder)
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			t.Errorf("remove the data of dev: %v", err)
			return
		}
	}
}

// emptyCluster creates the PostgreSQL cluster that new folders get.
var emptyCluster = sync.OnceValues(func() (string, error) {
	folder := filepath.Join(filepath.Dir(program), "postgres")
	server, err := pgserver.Start(context.Background(), pgserver.Config{Dir: folder, Unsafe: true})
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "cluster"), server.Stop(context.Background())
})

func copyCluster(t *testing.T, to string) {
	t.Helper()
	cluster, err := emptyCluster()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", cluster, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// startDevProgram starts another build of the program. It prints to a terminal, because the API key is printed to
// terminals only.
func startDevProgram(t *testing.T, program, folder string, flags ...string) *dev {
	t.Helper()
	return startDevTo(t, pty.Open, program, folder, flags...)
}

// startDevTo starts a build of the program that prints to what is opened.
func startDevTo(
	t *testing.T, open func() (from, to *os.File, err error), program, folder string, flags ...string,
) *dev {
	t.Helper()
	d := &dev{t: t, ended: make(chan struct{}), output: new(bytes.Buffer)}
	d.process = exec.Command(program, append([]string{
		"dev", "--data", folder, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--eventstore-listen",
		"127.0.0.1:0",
	}, flags...)...)
	d.process.Stderr = d.output
	stdout, printed, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = printed.Close() }()
	d.process.Stdout = printed
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		var greeting strings.Builder
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			greeting.WriteString(lines.Text() + "\n")
			if strings.HasPrefix(lines.Text(), "Ctrl-C") {
				ready <- greeting.String()
			}
		}
		_ = d.process.Wait() // the test checks the exit code
		_ = stdout.Close()
		close(d.ended)
	}()
	t.Cleanup(func() {
		d.kill()
		<-d.ended
		removeAll(t, folder)
	})
	select {
	case d.greeting = <-ready:
	case <-d.ended:
		t.Fatalf("dev ended before it was ready:\n%s", d.output)
	case <-time.After(startTimeout):
		t.Fatal("dev was not ready in time")
	}
	for _, line := range greetingLine.FindAllStringSubmatch(d.greeting, -1) {
		switch line[1] {
		case "API":
			d.base = strings.TrimSuffix(line[2], "/v3")
		case "health":
			d.admin = strings.TrimSuffix(line[2], "/health/ready")
		case "API key":
			d.key = line[2]
		}
	}
	return d
}

// kill ends the process as a power failure would.
func (d *dev) kill() {
	_ = d.process.Process.Kill() // an error means that it has ended
	<-d.ended
}

// interrupt ends the process as Ctrl-C does, and checks that it ends without an error.
func (d *dev) interrupt() {
	d.t.Helper()
	if err := d.process.Process.Signal(syscall.SIGINT); err != nil {
		d.t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(startTimeout):
		d.t.Fatal("dev did not stop")
	}
	if code := d.process.ProcessState.ExitCode(); code != 0 {
		d.t.Fatalf("dev stopped with %d:\n%s", code, d.output)
	}
}

// call sends an API request and decodes the response.
func (d *dev) call(method, path, body string) map[string]any {
	d.t.Helper()
	answer, err := call(d.t.Context(), d.base, d.key, method, path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer
}

func call(ctx context.Context, base, key, method, path, body string) (map[string]any, error) {
	return callAs(ctx, base, demoUser, key, method, path, body)
}

func callAs(ctx context.Context, base, username, key, method, path, body string) (map[string]any, error) {
	request, err := apiRequest(ctx, base, username, key, method, path, body)
	if err != nil {
		return nil, err
	}
	return answerTo(request)
}

func apiRequest(ctx context.Context, base, username, key, method, path, body string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, base+"/v3"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(username, key)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// answerTo sends an API request and decodes the response. A response with an error for the whole
// request is returned as an error.
func answerTo(request *http.Request) (map[string]any, error) {
	return answerThrough(http.DefaultClient, request)
}

// answerThrough is answerTo with a client that keeps cookies or connects in its own way.
func answerThrough(client *http.Client, request *http.Request) (map[string]any, error) {
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if code := answer["error"].(map[string]any)["code"]; code != 0.0 {
		return answer, fmt.Errorf("%s %s: %v", request.Method, request.URL.Path, answer["error"])
	}
	return answer, nil
}

var noRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// visit follows a short link and reports whether it was redirected.
func visit(ctx context.Context, base, hash, agent string) (bool, error) {
	status, err := visitStatus(ctx, base, hash, agent)
	return status == http.StatusFound, err
}

// visitStatus follows a short link with a browser, which the agent tells apart, and returns the
// status of the response.
func visitStatus(ctx context.Context, base, hash, agent string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/"+hash, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "Lynx/2.9 "+agent)
	response, err := noRedirects.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// signInByLink presses the button of a one-time link, and returns where a new session begins; "": there is none.
func signInByLink(t *testing.T, link string) string {
	t.Helper()
	response, err := noRedirects.Post(link, "", nil)
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
	d := startDevProgram(t, program, folder) // with initdb

	_, lines, found := strings.Cut(d.greeting, "Try it, in another terminal:\n")
	lines, _, ended := strings.Cut(lines, "Ctrl-C")
	if !found || !ended {
		t.Fatalf("no curl lines in\n%s", d.greeting)
	}
	link := regexp.MustCompile(`http://\S+/console/sign-in/\S+`).FindString(d.greeting)
	if first, again := signInByLink(t, link), signInByLink(t, link); first != "/console" || again != "/console/sign-in" {
		t.Errorf("the link leads to %q, and again to %q", first, again)
	}
	reads, writes, divided := strings.Cut(lines, "# edit it")
	if !divided {
		t.Fatalf("no edit in\n%s", lines)
	}
	script := strings.ReplaceAll(reads, "\n  ", "\n")
	out := shell(t, script)
	for _, want := range []string{
		`"hash":"pg"`, `Location: https://www.postgresql.org/docs/`, `"total_clicks":1`, `"total_count":2`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	d.interrupt()

	again := startDev(t, folder)
	again.key = d.key
	stats := again.call("GET", "/stats/pg", "")["stats"].([]any)[0].(map[string]any)
	if stats["total_clicks"] != 1.0 {
		t.Errorf("after the restart: %v", stats)
	}
	edits := strings.ReplaceAll(
		strings.ReplaceAll("# edit it"+writes, "\n  ", "\n"), d.base, again.base,
	)
	if out := shell(t, edits); !strings.Contains(out, `"tags":["docs","manual"]`) {
		t.Errorf("response to the edit:\n%s", out)
	}
	if left := again.call("GET", "/urls", "")["page"].(map[string]any)["total_count"]; left != 1.0 {
		t.Errorf("%v links are left after one of two was deleted", left)
	}
	again.interrupt()
}

// TestSecretsAreForTerminals checks that a first start leaves no key in a journal, and names the commands that print one.
func TestSecretsAreForTerminals(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	copyCluster(t, filepath.Join(folder, "postgres"))
	d := startDevTo(t, os.Pipe, program, folder)
	for _, secret := range []string{"lk_", "/console/sign-in/"} {
		if strings.Contains(d.greeting, secret) {
			t.Errorf("%s in\n%s", secret, d.greeting)
		}
	}
	for _, want := range []string{"account rotate-key --username demo", "console link --username demo"} {
		if !strings.Contains(d.greeting, want) {
			t.Errorf("no %s in\n%s", want, d.greeting)
		}
		out := operator(t, folder, strings.Fields(want)...)
		if !strings.Contains(out, "lk_") && !strings.Contains(out, "/console/sign-in/") {
			t.Errorf("%s prints %s", want, out)
		}
	}
	d.interrupt()
}

// TestConsoleLink signs in by a link of a new account, at the address that dev listens on.
func TestConsoleLink(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	operator(t, folder, "account", "create", "--username", "ada", "--plan", "pro")
	var made struct{ Link string }
	out := operator(t, folder, "console", "link", "--username", "ada", "--operator", "--json")
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if to := signInByLink(t, made.Link); !strings.HasPrefix(made.Link, d.base+"/console/sign-in/") || to != "/console" {
		t.Errorf("%s leads to %q", made.Link, to)
	}
	d.interrupt()
}

// wantOneLine checks that a program ended with exit code 2 and one line that contains want.
func wantOneLine(t *testing.T, out []byte, err error, want string) {
	t.Helper()
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok || ended.ExitCode() != exitUsage {
		t.Errorf("ended with %v, want exit code %d:\n%s", err, exitUsage, out)
	}
	out = slowStart.ReplaceAll(out, nil)
	if text := strings.TrimSpace(string(out)); strings.Contains(text, "\n") || !strings.Contains(text, want) {
		t.Errorf("want one line with %q, got\n%s", want, text)
	}
}

// slowStart matches the lines of a start that waits, as for PostgreSQL on a busy machine.
var slowStart = regexp.MustCompile(
	`(?m)^time=\S+ level=(WARN|INFO) msg="(waiting for what this process depends on|the dependency answers)".*\n`,
)

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
			command := exec.CommandContext(t.Context(), program, test.args...)
			command.Env = append(os.Environ(), test.env...)
			out, err := command.CombinedOutput()
			wantOneLine(t, out, err, test.want)
		})
	}
}

func TestTwoProcessesOnOneFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := startDev(t, folder)
	out, err := exec.CommandContext(t.Context(), program, "dev", "--data="+folder,
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0").CombinedOutput()
	wantOneLine(t, out, err, "events")
	d.call("GET", "/account", "") // the first process is not affected
	d.interrupt()
}
