// Package e2etest has what the tests of real processes share. Such a test starts the program as a
// user would, and uses only its command line, its API, its files and its backends.
//
// A package that uses e2etest MUST build the program in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(e2etest.Run(m)) }
package e2etest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
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

	"linkledger/internal/pgserver"
	"linkledger/internal/programtest"
)

// Program is the path of the real program, which Run builds once.
var Program string

// Exit codes of the program.
const (
	ExitFailed = 1 // something went wrong while running
	ExitUsage  = 2 // the configuration or the machine must be changed
)

// DemoUser is the account that dev creates at its first start.
const DemoUser = "demo"

// folder has what the tests of a package share. Run creates and removes it.
var folder string

// Run builds the program, unless make test has built it, and runs the tests. It returns the exit
// code. With -short it runs no tests, because all of them start processes. If the test binary was
// started under the name curl, Run acts as curl instead, for Shell.
func Run(m *testing.M) int {
	if filepath.Base(os.Args[0]) == "curl" {
		if err := curl(os.Args[1:], os.Stdout); err != nil {
			panic(err)
		}
		return 0
	}
	flag.Parse()
	if testing.Short() {
		return 0
	}
	var err error
	if folder, err = os.MkdirTemp("", "linkledger-test-"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if Program, err = programtest.Path(folder); err != nil {
		panic(err)
	}
	return m.Run()
}

// StartTimeout bounds the start of a process. It is generous because many processes start at once.
const StartTimeout = 2 * time.Minute

// Dev is a running linkledger dev.
type Dev struct {
	T        *testing.T
	Process  *exec.Cmd
	Greeting string
	Base     string
	Admin    string
	Key      string
	Ended    chan struct{}
	Output   *bytes.Buffer // of standard error; valid once ended
}

var greetingLine = regexp.MustCompile(`(?m)^  (API|health|API key)  +(\S+)$`)

// StartDev starts the real program on a folder and waits for its greeting. A new folder gets a copy
// of one empty PostgreSQL cluster, because initdb takes three quarters of the time of a first
// start.
func StartDev(t *testing.T, folder string, flags ...string) *Dev {
	t.Helper()
	if _, err := os.Stat(folder); os.IsNotExist(err) {
		CopyCluster(t, filepath.Join(folder, "postgres"))
	}
	return StartDevProgram(t, Program, folder, flags...)
}

// RemoveAll removes the data folder of a process that was killed. It retries, because the
// PostgreSQL of that process ends by itself and may write until then.
func RemoveAll(t *testing.T, folder string) {
	t.Helper()
	late := time.After(StartTimeout)
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
	data := filepath.Join(folder, "postgres")
	server, err := pgserver.Start(context.Background(), pgserver.Config{Dir: data, Unsafe: true})
	if err != nil {
		return "", err
	}
	return filepath.Join(data, "cluster"), server.Stop(context.Background())
})

// CopyCluster copies the empty PostgreSQL cluster to a folder.
func CopyCluster(t *testing.T, to string) {
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

// StartDevProgram starts another build of the program. The program prints to a terminal, because it
// prints the API key to terminals only.
func StartDevProgram(t *testing.T, program, folder string, flags ...string) *Dev {
	t.Helper()
	return StartDevTo(t, pty.Open, program, folder, flags...)
}

// StartDevTo starts a build of the program. The program prints to the second file that open
// returns, and StartDevTo reads the output from the first.
func StartDevTo(
	t *testing.T, open func() (from, to *os.File, err error), program, folder string, flags ...string,
) *Dev {
	t.Helper()
	d := &Dev{T: t, Ended: make(chan struct{}), Output: new(bytes.Buffer)}
	d.Process = exec.Command(program, append([]string{
		"dev", "--data", folder, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--eventstore-listen",
		"127.0.0.1:0",
	}, flags...)...)
	d.Process.Stderr = d.Output
	stdout, printed, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = printed.Close() }()
	d.Process.Stdout = printed
	if err := d.Process.Start(); err != nil {
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
		_ = d.Process.Wait() // the test checks the exit code
		_ = stdout.Close()
		close(d.Ended)
	}()
	t.Cleanup(func() {
		d.Kill()
		<-d.Ended
		RemoveAll(t, folder)
	})
	select {
	case d.Greeting = <-ready:
	case <-d.Ended:
		t.Fatalf("dev ended before it was ready:\n%s", d.Output)
	case <-time.After(StartTimeout):
		t.Fatal("dev was not ready in time")
	}
	for _, line := range greetingLine.FindAllStringSubmatch(d.Greeting, -1) {
		switch line[1] {
		case "API":
			d.Base = strings.TrimSuffix(line[2], "/v3")
		case "health":
			d.Admin = strings.TrimSuffix(line[2], "/health/ready")
		case "API key":
			d.Key = line[2]
		}
	}
	return d
}

// Kill ends the process as a power failure would.
func (d *Dev) Kill() {
	_ = d.Process.Process.Kill() // an error means that it has ended
	<-d.Ended
}

// Interrupt ends the process as Ctrl-C does, and checks that it ends without an error.
func (d *Dev) Interrupt() {
	d.T.Helper()
	if err := d.Process.Process.Signal(syscall.SIGINT); err != nil {
		d.T.Fatal(err)
	}
	select {
	case <-d.Ended:
	case <-time.After(StartTimeout):
		d.T.Fatal("dev did not stop")
	}
	if code := d.Process.ProcessState.ExitCode(); code != 0 {
		d.T.Fatalf("dev stopped with %d:\n%s", code, d.Output)
	}
}

// Call sends an API request and decodes the response.
func (d *Dev) Call(method, path, body string) map[string]any {
	d.T.Helper()
	answer, err := Call(d.T.Context(), d.Base, d.Key, method, path, body)
	if err != nil {
		d.T.Fatal(err)
	}
	return answer
}

// Call sends an API request as the account of dev, and decodes the response.
func Call(ctx context.Context, base, key, method, path, body string) (map[string]any, error) {
	return CallAs(ctx, base, DemoUser, key, method, path, body)
}

// CallAs sends an API request as an account, and decodes the response.
func CallAs(ctx context.Context, base, username, key, method, path, body string) (map[string]any, error) {
	request, err := APIRequest(ctx, base, username, key, method, path, body)
	if err != nil {
		return nil, err
	}
	return AnswerTo(request)
}

// APIRequest returns an API request of an account.
func APIRequest(ctx context.Context, base, username, key, method, path, body string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, base+"/v3"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(username, key)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// AnswerTo sends an API request and decodes the response. A response with an error for the whole
// request is returned as an error.
func AnswerTo(request *http.Request) (map[string]any, error) {
	return AnswerThrough(http.DefaultClient, request)
}

// AnswerThrough is AnswerTo with a client that keeps cookies or connects in its own way.
func AnswerThrough(client *http.Client, request *http.Request) (map[string]any, error) {
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

// NoRedirects is a client that returns a redirect instead of following it.
var NoRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Visit follows a short link and reports whether it was redirected.
func Visit(ctx context.Context, base, hash, agent string) (bool, error) {
	status, err := VisitStatus(ctx, base, hash, agent)
	return status == http.StatusFound, err
}

// VisitStatus follows a short link and returns the status of the response. Requests with different
// agents count as different visitors.
func VisitStatus(ctx context.Context, base, hash, agent string) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/"+hash, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "Lynx/2.9 "+agent)
	response, err := NoRedirects.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// WantOneLine checks that a program ended with exit code 2 and printed one line, which contains
// want. Lines that slowStart matches do not count.
func WantOneLine(t *testing.T, out []byte, err error, want string) {
	t.Helper()
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok || ended.ExitCode() != ExitUsage {
		t.Errorf("ended with %v, want exit code %d:\n%s", err, ExitUsage, out)
	}
	out = slowStart.ReplaceAll(out, nil)
	if text := strings.TrimSpace(string(out)); strings.Contains(text, "\n") || !strings.Contains(text, want) {
		t.Errorf("want one line with %q, got\n%s", want, text)
	}
}

// slowStart matches the log lines of a start that waits, for example for PostgreSQL on a busy
// machine.
var slowStart = regexp.MustCompile(
	`(?m)^time=\S+ level=(WARN|INFO) msg="(waiting for what this process depends on|the dependency answers)".*\n`,
)
