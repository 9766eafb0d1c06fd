package watchedfile_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"linkledger/commands/watchedfile"
)

// watched is a file with its former content in use.
type watched struct {
	path, content string
	loads         int
	log           strings.Builder
}

func (w *watched) config() watchedfile.Config {
	return watchedfile.Config{
		Path: w.path, Content: "words", MaxSize: 10, Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
		Load: func() error {
			w.loads++
			read, err := os.ReadFile(w.path)
			if err == nil && string(read) == "bad" {
				err = errors.New("malformed")
			}
			if err == nil {
				w.content = string(read)
			}
			return err
		},
	}
}

// write writes the file, with a time of its own.
func (w *watched) write(t *testing.T, content string, at int64) {
	t.Helper()
	if err := os.WriteFile(w.path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(w.path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
		t.Fatal(err)
	}
}

func newFile(t *testing.T) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "file")}
	w.write(t, "first", 1)
	return w
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	w := newFile(t)
	for content, want := range map[string]string{
		"bad": "words: malformed", "01234567890": "has 11 bytes, at most 10 are read",
	} {
		w.write(t, content, 1)
		if _, err := watchedfile.Open(w.config()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
	w.path += "-missing"
	if _, err := watchedfile.Open(w.config()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestRenew changes a file. It is read once for each version, and a failure is logged once.
func TestRenew(t *testing.T) {
	t.Parallel()
	w := newFile(t)
	f, err := watchedfile.Open(w.config())
	if err != nil || w.content != "first" {
		t.Fatalf("%s, %v", w.content, err)
	}
	for _, step := range []struct {
		name, content string
		at            int64
		want          string
		loads, logged int
	}{
		{"unchanged", "first", 1, "first", 1, 0},
		{"later", "later", 2, "later", 2, 0},
		{"longer", "longer", 2, "longer", 3, 0},
		{"ten bytes", "0123456789", 3, "0123456789", 4, 0},
		{"malformed", "bad", 4, "0123456789", 5, 1},
		{"too large", "01234567890", 5, "0123456789", 5, 2},
		{"mended", "mended", 6, "mended", 6, 2},
	} {
		w.write(t, step.content, step.at)
		f.Renew(t.Context())
		f.Renew(t.Context())
		if logged := strings.Count(w.log.String(), "cannot be read"); w.content != step.want || w.loads != step.loads ||
			logged != step.logged {
			t.Errorf("%s: %q after %d loads, logged %d times", step.name, w.content, w.loads, logged)
		}
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	f.Renew(t.Context())
	f.Renew(t.Context())
	if w.content != "mended" || strings.Count(w.log.String(), "no such file") != 1 {
		t.Errorf("a missing file: %q\n%s", w.content, w.log.String())
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	w := newFile(t)
	synctest.Test(t, func(t *testing.T) {
		f, err := watchedfile.Open(w.config())
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			f.Run(ctx)
		}()
		w.write(t, "later", 2)
		time.Sleep(1500 * time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if w.content != "later" {
			t.Errorf("after a second: %q", w.content)
		}
		end()
		<-done
	})
}
