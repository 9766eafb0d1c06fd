package child_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"linkledger/cmd/linkledger-bench/internal/child"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes a program that runs a shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// waiting is a script that greets, and ends at a signal.
const waiting = `trap 'exit 0' INT
echo first
echo it is ready: $1, $LINKLEDGER_NEW_KEYS
echo later
while :; do sleep 0.01; done
`

func start(t *testing.T, text string) *child.Process {
	t.Helper()
	p, err := child.Start(t.Context(), "ready", script(t, text), "argument")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStart checks that a process is started with its arguments, and has greeted when Start returns.
func TestStart(t *testing.T) {
	t.Parallel()
	p := start(t, waiting)
	if want := "first\nit is ready: argument, true\n"; p.Greeting != want {
		t.Errorf("greeting %q, want %q", p.Greeting, want)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if !p.Command.ProcessState.Exited() {
		t.Error("Stop returns while the process runs")
	}
}

// TestStopDemandsAGoodEnd checks that the error of Stop has the exit status and the last output of the process.
func TestStopDemandsAGoodEnd(t *testing.T) {
	t.Parallel()
	p := start(t, "trap 'echo broken; exit 3' INT\necho ready\nwhile :; do sleep 0.01; done\n")
	err := p.Stop()
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.HasSuffix(err.Error(), "\nbroken") {
		t.Error(err)
	}
}

// TestStartFails checks that a start says why there is no process, or none that is ready.
func TestStartFails(t *testing.T) {
	t.Parallel()
	t.Run("it does not exist", func(t *testing.T) {
		t.Parallel()
		_, err := child.Start(t.Context(), "ready", "/nowhere/program")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("it ends before", func(t *testing.T) {
		t.Parallel()
		var printed strings.Builder
		for _, line := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22") {
			printed.WriteString("echo line-" + line + "\n")
		}
		_, err := child.Start(t.Context(), "ready", script(t, printed.String()+"exit 2\n"), "argument")
		if err == nil || !strings.Contains(err.Error(), "argument ended before it was ready: exit status 2\nline-3\n") {
			t.Error(err)
		}
	})
}

// TestMemory checks that the memory of a process is read, and that a peak can be forgotten.
func TestMemory(t *testing.T) {
	t.Parallel()
	p := start(t, waiting)
	resident, err := p.Resident()
	if err != nil || resident <= 0 || resident > 1000 {
		t.Errorf("resident: %v MB, %v", resident, err)
	}
	if err := p.ForgetPeak(); err != nil {
		t.Error(err)
	}
	if peak, err := p.Peak(); err != nil || peak <= 0 || peak > 1000 {
		t.Errorf("peak: %v MB, %v", peak, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := p.Resident(); err == nil {
		t.Error("a process that has ended has memory")
	}
}

// TestLongLine checks that a process prints on after a line that is too long to be kept.
func TestLongLine(t *testing.T) {
	t.Parallel()
	p := start(t, `trap 'asked=1' INT
echo ready
head -c 300000 /dev/zero
while [ -z "$asked" ]; do sleep 0.01; done
`)
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
