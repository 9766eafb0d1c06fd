package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestList checks that a file is read again when it has changed, and that a changed file that is
// wrong leaves the former table in use.
func TestList(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "agents.txt")
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	changes := 0
	save := func(text string) {
		t.Helper()
		changes++
		at := time.Now().Add(time.Duration(changes) * time.Minute)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadList(path, logger); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	save("unheardof\n")
	if _, err := ReadList(path, logger); err == nil || !strings.Contains(err.Error(), "agents: "+path+": line 1") {
		t.Errorf("a wrong file: %v", err)
	}
	save("[people]\nunheardof\n")
	list, err := ReadList(path, logger)
	if err != nil {
		t.Fatal(err)
	}
	person := func(want bool) {
		t.Helper()
		if got := !list.Table().IsRobot("UnheardOf/1"); got != want {
			t.Errorf("a person: %t", got)
		}
	}
	person(true)
	save("[people]\nunheard\n")
	list.file.Renew(t.Context())
	person(false)
	save("[people]\nunheardof\n")
	list.file.Renew(t.Context())
	former := list.Table()
	save("[persons]\n")
	list.file.Renew(t.Context())
	if list.Table() != former || !strings.Contains(logged.String(), "line 1") {
		t.Errorf("a wrong file changes the table, or is not logged: %s", logged.String())
	}
	save("[people]\n")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- list.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); list.Table() == former; {
		if time.Now().After(deadline) {
			t.Fatal("the mended file is not read")
		}
		<-time.After(10 * time.Millisecond)
	}
	person(false)
	go func() { ended <- NewList().Run(ctx) }()
	select {
	case <-ended:
		t.Fatal("a list ends before its context")
	case <-time.After(10 * time.Millisecond):
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
