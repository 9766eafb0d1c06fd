package main

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
	// startPatience bounds the start of a process, which may have a whole log to catch up with.
	startPatience = 30 * time.Minute
	// stopPatience bounds its end.
	stopPatience = time.Minute
	// tailLines is how much of its output is shown when it fails.
	tailLines = 20
)

// child is a process that is measured, or measured against.
type child struct {
	command  *exec.Cmd
	greeting string        // all that it printed until it was ready
	ended    chan struct{} // closed when it has ended
	tail     []string      // its last lines; valid once ended
	err      error         // how it ended; valid once ended
}

// start starts a program and waits until it has printed a line with certain words in it. It ends with stop, or with this
// process, however that ends; Ctrl-C reaches this process alone.
func start(ctx context.Context, ready, program string, args ...string) (*child, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it was not ready within %s", startPatience))
	defer cancel()
	c := &child{ended: make(chan struct{})}
	c.command = exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // the program that is asked for
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started, greeted := make(chan error, 1), make(chan string, 1)
	go c.run(ready, started, greeted)
	if err := <-started; err != nil {
		return nil, err
	}
	select {
	case c.greeting = <-greeted:
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("%s %s ended before it was ready: %w", program, args[0], c.failure())
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("start %s %s: %w", program, args[0], context.Cause(ctx)), c.stop())
	}
}

// run keeps its thread to itself, because the kernel sends the parent-death signal when the thread that forked ends.
func (c *child) run(ready string, started chan<- error, greeted chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reader, writer, err := os.Pipe()
	if err != nil {
		started <- err
		return
	}
	defer func() { _ = reader.Close() }() // read to its end
	c.command.Stdout, c.command.Stderr = writer, writer
	err = errors.Join(c.command.Start(), writer.Close())
	started <- err
	if err != nil {
		return
	}
	defer close(c.ended)
	c.follow(reader, ready, greeted)
	c.err = c.command.Wait()
}

// follow reads what the process prints, to its end.
func (c *child) follow(output io.Reader, ready string, greeted chan<- string) {
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

func (c *child) failure() error {
	return fmt.Errorf("%w\n%s", c.err, strings.Join(c.tail, "\n"))
}

// stop ends the process as Ctrl-C does, and demands that it ends well.
func (c *child) stop() error {
	_ = c.command.Process.Signal(os.Interrupt) // an error means that it has ended
	late := time.AfterFunc(stopPatience, func() { _ = c.command.Process.Kill() })
	defer late.Stop()
	<-c.ended
	if c.err != nil {
		return fmt.Errorf("%s ended with %w", c.command.Path, c.failure())
	}
	return nil
}

// proc is the path of a file of /proc about the process.
func (c *child) proc(name string) string {
	return fmt.Sprintf("/proc/%d/%s", c.command.Process.Pid, name)
}

// resident returns the memory that the process has now, in MB.
func (c *child) resident() (float64, error) { return c.memory("VmRSS:") }

// peak returns the most memory that the process has had, in MB, ever or since forgetPeak.
func (c *child) peak() (float64, error) { return c.memory("VmHWM:") }

func (c *child) forgetPeak() error {
	return os.WriteFile(c.proc("clear_refs"), []byte("5"), 0) // see proc(5)
}

func (c *child) memory(field string) (float64, error) {
	status, err := os.ReadFile(c.proc("status"))
	if err != nil {
		return 0, fmt.Errorf("memory of %s: %w", c.command.Path, err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == field {
			kibibytes, err := strconv.ParseFloat(words[1], 64)
			return kibibytes * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("memory of %s: %s has no %s", c.command.Path, c.proc("status"), field)
}
