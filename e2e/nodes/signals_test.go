// Signals, and outputs that cannot be written, end no service and lose no call.

package nodes_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
)

// harmless are the signals that end no service.
var harmless = []syscall.Signal{
	syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGWINCH,
	syscall.SIGXFSZ, syscall.SIGIO, syscall.SIGTSTP,
}

// ending are the signals that end a service after the calls in hand.
var ending = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT}

// callInHand is a call that makes a link. The service has its head and a part of its body.
type callInHand struct {
	t    *testing.T
	conn net.Conn
	from *bufio.Reader
	rest string
}

// beginCall returns when the service waits for the rest of the body.
func beginCall(t *testing.T, base, key, hash string) *callInHand {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(e2etest.StartTimeout)); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s","custom_hash":"%s"}]}`, hash, hash)
	c := &callInHand{t: t, conn: conn, from: bufio.NewReader(conn), rest: body[10:]}
	c.write(fmt.Sprintf("POST /v3/urls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		base64.StdEncoding.EncodeToString([]byte(e2etest.DemoUser+":"+key)), len(body)))
	for {
		line, err := c.from.ReadString('\n')
		if err != nil {
			t.Fatalf("the service takes no body: %v", err)
		}
		if line == "\r\n" {
			break
		}
		if strings.HasPrefix(line, "HTTP/") && !strings.Contains(line, " 100 ") {
			t.Fatalf("the service takes no body: %s", line)
		}
	}
	c.write(body[:10])
	return c
}

func (c *callInHand) write(text string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// end sends the rest of the body, and checks that the link is made.
func (c *callInHand) end(after string) {
	c.t.Helper()
	c.write(c.rest)
	response, err := http.ReadResponse(c.from, nil)
	if err != nil {
		c.t.Errorf("after %s a call in hand got no answer: %v", after, err)
		return
	}
	defer func() { _ = response.Body.Close() }() // it was read
	var answer struct {
		Error struct{ Code int }
		URLs  []struct{ Hash string }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK ||
		answer.Error.Code != 0 || len(answer.URLs) != 1 {
		c.t.Errorf("after %s a call in hand got %s, %+v, %v", after, response.Status, answer, err)
	}
	if err := c.conn.Close(); err != nil {
		c.t.Error(err)
	}
}

// endure sends the signals that end no service, each with a call in hand, and returns the hashes of the calls.
func endure(t *testing.T, process *os.Process, base, key string) (hashes []string) {
	t.Helper()
	for _, s := range harmless {
		hash := fmt.Sprintf("after-%d", int(s))
		c := beginCall(t, base, key, hash)
		if err := process.Signal(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if s == syscall.SIGTSTP {
			if err := process.Signal(syscall.SIGCONT); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		if _, err := e2etest.Call(t.Context(), base, key, "GET", "/account", ""); err != nil {
			t.Fatalf("after %s: %v", s, err)
		}
		c.end(s.String())
		hashes = append(hashes, hash)
	}
	return hashes
}

// checkRedirects checks that all links are there.
func checkRedirects(t *testing.T, base string, hashes []string) {
	t.Helper()
	for _, hash := range hashes {
		if redirected, err := e2etest.Visit(t.Context(), base, hash, "visitor"); err != nil || !redirected {
			t.Errorf("%s is not redirected: %v", hash, err)
		}
	}
}

// TestSignalsOfServe sends each signal to serve while it has a call in hand.
func TestSignalsOfServe(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	hashes := endure(t, i.Service.Process.Process, i.Base, i.Key)
	i.Service.Kill()
	for n, s := range ending {
		service, log := installtest.NewService(i, i.Backends()...)
		log.Await("msg=serving")
		e2etest.AwaitReady(t, i.Admin, http.StatusOK, "ok")
		hash := fmt.Sprintf("stopped-%d", n)
		c := beginCall(t, i.Base, i.Key, hash)
		for range 2 { // the second one ends no call either
			if err := service.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			log.Await("stop")
		}
		c.end(s.String())
		if err := service.Wait(); err != nil {
			t.Errorf("%s: ended with %v", s, err)
		}
		hashes = append(hashes, hash)
	}
	i.StartService()
	e2etest.AwaitReady(t, i.Admin, http.StatusOK, "ok")
	checkRedirects(t, i.Base, hashes)
}

// TestSignalsOfDev sends the signals to dev.
func TestSignalsOfDev(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	d := e2etest.StartDev(t, folder)
	hashes := endure(t, d.Process.Process, d.Base, d.Key)
	c := beginCall(t, d.Base, d.Key, "stopped")
	if err := d.Process.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	c.end("SIGQUIT")
	<-d.Ended
	if code := d.Process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ended with %d:\n%s", code, d.Output)
	}
	again := e2etest.StartDev(t, folder)
	checkRedirects(t, again.Base, append(hashes, "stopped"))
	again.Interrupt()
}

// TestSignalsOfStore sends the signals to an event store while links are made.
func TestSignalsOfStore(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	var hashes []string
	for n, s := range append(harmless, ending...) {
		hash := fmt.Sprintf("link-%d", n)
		c := beginCall(t, i.Base, i.Key, hash)
		if err := i.Store.Process.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if s == syscall.SIGTSTP {
			if err := i.Store.Process.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		if n >= len(harmless) {
			<-i.Store.Ended
			if code := i.Store.Process.ProcessState.ExitCode(); code != 0 {
				t.Errorf("%s: ended with %d:\n%s", s, code, i.Store.Output.String())
			}
			i.StartStore()
			e2etest.AwaitReady(t, i.Admin, http.StatusOK, "ok")
		}
		c.end(s.String())
		hashes = append(hashes, hash)
	}
	checkRedirects(t, i.Base, hashes)
}

// TestLogThatCannotBeWritten starts services with a standard error that has no reader, is on a full disk, or takes no
// more lines. They serve, and count the lost lines.
func TestLogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	for name, open := range map[string]func() (*os.File, func(), error){
		"no reader": func() (*os.File, func(), error) {
			reader, writer, err := os.Pipe()
			return writer, func() { _ = reader.Close() }, err
		},
		"a reader that reads nothing": func() (*os.File, func(), error) {
			reader, writer, err := os.Pipe()
			t.Cleanup(func() { _ = reader.Close() })
			return writer, func() {}, err
		},
		"full disk": func() (*os.File, func(), error) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			return full, func() {}, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, leave, err := open()
			if err != nil {
				t.Fatal(err)
			}
			own := *i
			own.T, own.Base, own.Admin = t, "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
			process := exec.Command(e2etest.Program, append([]string{
				"serve", "--listen", own.Base[len("http://"):], "--admin-listen", own.Admin[len("http://"):],
				"--spool", t.TempDir(), "--log-requests=all", "--log-format=json",
			}, i.Backends()...)...)
			process.Stdout, process.Stderr = output, output
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = process.Process.Kill() }) // an error means that it has ended
			if err := output.Close(); err != nil {
				t.Fatal(err)
			}
			own.Eventually("the service answers", func() bool { return own.Metric("linkledger_log_lines_lost_total") >= 0 })
			leave()
			own.Eventually("lines are lost", func() bool {
				for range 500 {
					if _, err := e2etest.Visit(t.Context(), own.Base, "nothing", "visitor"); err != nil {
						t.Fatal(err)
					}
				}
				return own.Metric("linkledger_log_lines_lost_total") > 0
			})
			beginCall(t, own.Base, own.Key, "made-"+strings.ReplaceAll(name, " ", "-")).end("lost lines")
			if err := process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := process.Wait(); err != nil {
				t.Errorf("stopped with %v", err)
			}
		})
	}
}
