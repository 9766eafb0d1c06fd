// Package child runs the measured program or its control as a process, and reads how much memory
// the process takes.
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the start of a process, which may have a whole log to catch up with.
	startTimeout = 30 * time.Minute
	// stopTimeout bounds the end of a process.
	stopTimeout = time.Minute
	// tailLines is how many lines of output are shown if a process fails.
	tailLines = 20
)

// Process is a running process of the measured program or its control.
type Process struct {
	Command  *exec.Cmd
	Greeting string        // all that it printed until it was ready
	ended    chan struct{} // closed when it has ended
	tail     []string      // its last lines; valid once ended
	err      error         // how it ended; valid once ended
}

// Start starts a program and waits until it prints a line that contains ready. The program ends on
// Stop, or when the process that called Start ends for any reason. Ctrl-C in the terminal ends only
// the caller.
func Start(ctx context.Context, ready, program string, args ...string) (*Process, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx, startTimeout, fmt.Errorf("it was not ready within %s", startTimeout),
	)
	defer cancel()
	c := &Process{ended: make(chan struct{})}
	//nolint:gosec // the program that is asked for
	c.Command = exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	// The log is filled before its database exists, so services find links but no encryption keys.
	// With this variable they make new keys.
	c.Command.Env = append(c.Command.Environ(), "LINKLEDGER_NEW_KEYS=true")
	c.Command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started, greeted := make(chan error, 1), make(chan string, 1)
	go c.run(ready, started, greeted)
	if err := <-started; err != nil {
		return nil, err
	}
	select {
	case c.Greeting = <-greeted:
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("%s %s ended before it was ready: %w", program, args[0], c.failure())
	case <-ctx.Done():
		return nil, errors.Join(
			fmt.Errorf("start %s %s: %w", program, args[0], context.Cause(ctx)), c.Stop(),
		)
	}
}

// run runs the process from a thread of its own, because the kernel sends the parent-death signal
// when the thread that forked ends.
func (c *Process) run(ready string, started chan<- error, greeted chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reader, writer, err := os.Pipe()
	if err != nil {
		started <- err
		return
	}
	defer func() { _ = reader.Close() }() // read to its end
	c.Command.Stdout, c.Command.Stderr = writer, writer
	err = errors.Join(c.Command.Start(), writer.Close())
	started <- err
	if err != nil {
		return
	}
	defer close(c.ended)
	c.follow(reader, ready, greeted)
	c.err = c.Command.Wait()
}

// follow reads what the process prints, to its end.
func (c *Process) follow(output io.Reader, ready string, greeted chan<- string) {
	var greeting strings.Builder
	waiting := true
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		c.tail = append(c.tail[max(0, len(c.tail)-tailLines+1):], lines.Text())
		if !waiting {
			continue
		}
		greeting.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), ready) {
			waiting = false
			greeted <- greeting.String()
		}
	}
	_, _ = io.Copy(io.Discard, output) // after a line that is too long
}

func (c *Process) failure() error {
	return fmt.Errorf("%w\n%s", c.err, strings.Join(c.tail, "\n"))
}

// Stop ends the process as Ctrl-C does. It returns an error if the process fails.
func (c *Process) Stop() error {
	_ = c.Command.Process.Signal(os.Interrupt) // an error means that it has ended
	late := time.AfterFunc(stopTimeout, func() { _ = c.Command.Process.Kill() })
	defer late.Stop()
	<-c.ended
	if c.err != nil {
		return fmt.Errorf("%s ended with %w", c.Command.Path, c.failure())
	}
	return nil
}

// proc is the path of a file of /proc about the process.
func (c *Process) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", c.Command.Process.Pid, name)
}

// Resident returns the memory that the process has now, in MB.
func (c *Process) Resident() (float64, error) { return c.memory("VmRSS:") }

// Peak returns the most memory that the process has had since its start or the last ForgetPeak, in
// MB.
func (c *Process) Peak() (float64, error) { return c.memory("VmHWM:") }

// ForgetPeak makes Peak measure from now on.
func (c *Process) ForgetPeak() error {
	return os.WriteFile(c.proc("clear_refs"), []byte("5"), 0) // see proc(5)
}

func (c *Process) memory(field string) (float64, error) {
	status, err := os.ReadFile(c.proc("status"))
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", c.Command.Path, err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == field {
			kibibytes, err := strconv.ParseFloat(words[1], 64)
			return kibibytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("memory of %s: %s has no %s", c.Command.Path, c.proc("status"), field)
}
