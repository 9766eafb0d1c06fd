package condition

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// output is a buffer that goroutines share.
type output struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(b)
}

// take returns what was written since the last call.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.out.Reset()
	return o.out.String()
}

// newCauses returns a logger that logs each cause once, and a function that returns its lines so far, without times.
func newCauses() (*slog.Logger, func() string) {
	var out output
	logger := slog.New(NewHandler(slog.NewTextHandler(&out, nil)))
	return logger, func() string {
		var lines []string
		for line := range strings.Lines(out.take()) {
			_, line, _ = strings.Cut(line, " ")
			lines = append(lines, strings.TrimSpace(line))
		}
		return strings.Join(lines, "\n")
	}
}

// TestCausesAreLoggedOnce lets calls fail for two and a half minutes, each with its own request and port.
func TestCausesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, lines := newCauses()
		for i := range 1500 {
			logger.ErrorContext(t.Context(), "request failed", slog.String("request", fmt.Sprint("r", i)),
				slog.Int("status", 503), slog.Any("error", fmt.Errorf("dial 127.0.0.1:%d: refused", 40_000+i)))
			time.Sleep(100 * time.Millisecond)
			if i == 0 {
				time.Sleep(50 * time.Millisecond) // no line is at the end of a minute
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want := strings.Join([]string{
			`level=ERROR msg="request failed" request=r0 status=503 error="dial 127.0.0.1:40000: refused"`,
			`level=ERROR msg="request failed" request=r599 status=503 error="dial 127.0.0.1:40599: refused" again=599 for=59.95s`,
			`level=ERROR msg="request failed" request=r1199 status=503 error="dial 127.0.0.1:41199: refused" again=600 for=1m59.95s`,
			`level=ERROR msg="request failed" request=r1499 status=503 error="dial 127.0.0.1:41499: refused" again=300 for=2m29.95s`,
			`level=INFO msg="no longer: request failed" request=r1499 status=503 error="dial 127.0.0.1:41499: refused" times=1500 lasted=2m29.95s`,
		}, "\n")
		if got := lines(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestLinesOfTheirOwn checks that no line is lost that says something new.
func TestLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, lines := newCauses()
		ctx := t.Context()
		cause := slog.Any("error", errors.New("cause"))
		for range 2 { // each of these is logged both times
			logger.InfoContext(ctx, "info", cause)
			logger.WarnContext(ctx, "no error", slog.String("stream", "a"))
		}
		thrice := func(log func()) {
			for range 3 {
				log()
			}
		}
		thrice(func() { logger.WarnContext(ctx, "event set aside", slog.String("stream", "a"), cause) })
		thrice(func() { logger.WarnContext(ctx, "event set aside", slog.String("stream", "b"), cause) })
		thrice(func() {
			logger.WarnContext(ctx, "event set aside", slog.String("stream", "b"), slog.Any("error", errors.New("other")))
		})
		thrice(func() { logger.With(slog.String("node", "a")).WarnContext(ctx, "other message", cause) })
		got := lines()
		if n := strings.Count(got, "\n") + 1; n != 4+4 {
			t.Errorf("%d lines:\n%s", n, got)
		}
		logger.WarnContext(ctx, "once", cause)
		lines()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if got := lines(); strings.Contains(got, "once") {
			t.Errorf("what happened once has an end:\n%s", got)
		}
		for i := range 2 * maxCauses { // nothing is kept for ever, and nothing beyond the bound is lost
			logger.WarnContext(ctx, "many", slog.String("stream", strconv.Itoa(i)), cause)
		}
		if got := lines(); strings.Count(got, "\n")+1 != 2*maxCauses {
			t.Errorf("%d lines", strings.Count(got, "\n")+1)
		}
		time.Sleep(3 * time.Minute)
	})
}
