package condition

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLines reports a condition ten times a second for two and a half minutes.
func TestLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&out, nil)), "it fails", "it works again")
		l.Report(t.Context(), nil)
		for range 2 {
			for range 1500 {
				l.Report(t.Context(), errors.New("the cause"))
				time.Sleep(100 * time.Millisecond)
			}
			l.Report(t.Context(), nil)
			l.Report(t.Context(), nil)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			_, line, _ = strings.Cut(line, " ") // the time
			got = append(got, strings.TrimSpace(line))
		}
		once := []string{
			`level=ERROR msg="it fails" error="the cause"`,
			`level=ERROR msg="it fails" error="the cause" again=599 for=1m0s`,
			`level=ERROR msg="it fails" error="the cause" again=599 for=2m0s`,
			`level=INFO msg="it works again" lasted=2m30s`,
		}
		if want := strings.Join(append(once, once...), "\n"); strings.Join(got, "\n") != want {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
	})
}
