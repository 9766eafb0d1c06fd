package dev_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/internal/config"
	"linkledger/internal/console"
	"linkledger/internal/datafolder"
	"linkledger/internal/dev"
	"linkledger/internal/usage"
)

// newWholeConfig returns a configuration with which dev can start, in a folder that any user can reach. Then root's
// PostgreSQL needs no capability except to change the user.
func newWholeConfig(t *testing.T) dev.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PostgreSQL: run without -short")
	}
	c := newConfig(t)
	folder := filepath.Dir(c.Data)
	for _, reached := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(reached, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.LogRequests, c.Origins, c.Version = "none", "*", "test"
	c.PostgresBin = os.Getenv("LINKLEDGER_POSTGRES_BIN")
	c.Redirecting = config.Redirecting{
		CacheSize: 1, SpoolSize: 1, ClickPatience: time.Second, VisitorKey: "visitor",
	}
	c.Projecting = config.Projecting{ReadyMaxLag: time.Minute, WaitTimeout: 8 * time.Second}
	c.Getenv = func(string) string { return "" }
	return c
}

// untilReady is where dev prints its greeting.
type untilReady struct {
	bytes.Buffer

	ready chan string // has the greeting once it is complete
}

// Write implements io.Writer.
func (u *untilReady) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if greeting := u.String(); strings.Contains(greeting, "Ctrl-C") {
		select {
		case u.ready <- greeting:
		default: // it was complete before
		}
	}
	return n, err
}

// during runs dev, calls use with its greeting when everything is ready, and stops dev.
func during(t *testing.T, c dev.Config, use func(greeting string)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	out := &untilReady{ready: make(chan string, 1)}
	ended := make(chan error, 1)
	defer func() {
		stop()
		<-ended
	}()
	go func() {
		defer close(ended)
		ended <- dev.Run(ctx, c, console.Console{Stdout: out, Logger: slog.New(slog.DiscardHandler)})
	}()
	select {
	case greeting := <-out.ready:
		use(greeting)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("dev ended with %v", err)
		}
	case err := <-ended:
		t.Fatalf("dev ended before it was ready: %v", err)
	}
}

// answers checks that the API at an address answers.
func answers(t *testing.T, base string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(base + "/v3/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the API answers %d %s, %v; want %d", answer.StatusCode, body, err, http.StatusOK)
	}
}

// TestRun starts dev twice on one folder. It checks that dev tells commands of operators where it runs, while it runs.
func TestRun(t *testing.T) {
	t.Parallel()
	c := newWholeConfig(t)
	for range 2 {
		during(t, c, func(greeting string) {
			running, err := datafolder.FindRunning(c.Data)
			if err != nil {
				t.Fatal(err)
			}
			if api := "  " + running.Console + "/v3\n"; !strings.Contains(greeting, api) {
				t.Errorf("%q is not in the greeting: %s", api, greeting)
			}
			answers(t, running.Console)
		})
		if running, err := datafolder.FindRunning(c.Data); !usage.Is(err) {
			t.Errorf("after the end the folder has %+v, %v; want no running dev", running, err)
		}
	}
}
