package operations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
)

// TestCreatesBesideTagged measures the creates of one account while another account changes all of
// its links by their tag, with up to four calls at once. The durations are logged with -v.
func TestCreatesBesideTagged(t *testing.T) {
	t.Parallel()
	folder, n := filepath.Join(t.TempDir(), "data"), *taggedLinks
	d := e2etest.StartDev(t, folder)
	out, log, _ := e2etest.Command(t, "account", "create", "--username", "other", "--json", "--data", folder)
	var other e2etest.OpenedAccount
	if err := json.Unmarshal([]byte(out), &other); err != nil {
		t.Fatalf("output of account create: %s%s: %v", out, log, err)
	}
	createTagged(d, n, "t")
	creates := func(ctx context.Context, atLeast int) []time.Duration {
		var took []time.Duration
		for i := 0; i < atLeast || ctx.Err() == nil; i++ {
			began := time.Now()
			if _, err := e2etest.CallAs(
				t.Context(), d.Base, "other", other.APIKey, "POST", "/urls",
				`{"urls":[{"long_url":"https://example.com/"}]}`,
			); err != nil {
				t.Error(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took
	}
	alone := creates(closed(t), 200)
	t.Logf("creates alone: p50 %v, p95 %v", alone[100], alone[190])
	for _, edits := range []int{1, 4} {
		ctx, done := context.WithCancel(t.Context())
		began := time.Now()
		var editors sync.WaitGroup
		for i := range edits {
			editors.Go(func() {
				body := fmt.Sprintf(`{"urls":[{"note":"%d of %d"}]}`, i, edits)
				for {
					_, err := e2etest.Call(t.Context(), d.Base, d.Key, "PATCH", "/urls?tags=t", body)
					if err == nil {
						return
					}
					if !strings.Contains(err.Error(), "1303") {
						t.Error(err)
						return
					}
				}
			})
		}
		go func() { editors.Wait(); done() }()
		beside := creates(ctx, 1)
		t.Logf("beside %d edits of %d links, %.1f s: p50 %v, p95 %v, slowest %v of %d", edits, n, time.Since(
			began,
		).Seconds(),
			beside[len(beside)/2], beside[len(beside)*95/100], beside[len(beside)-1], len(beside))
	}
}

// closed returns a context that is already cancelled.
func closed(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
