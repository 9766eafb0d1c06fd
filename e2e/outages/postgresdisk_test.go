// The disk of PostgreSQL alone is full, while two nodes serve.

package outages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
)

// smallDisk mounts a file system of some megabytes on a new folder until the test ends. It returns false where that is
// not allowed: only root can, and not in every container.
func smallDisk(t *testing.T, folder string, megabytes int) bool {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		if !errors.Is(err, syscall.EPERM) {
			t.Fatalf("mount a small disk: %v", err)
		}
		t.Logf("this machine allows no mounts: %v", err)
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return true
}

// fill writes a file until its disk is full. The caller removes the file.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<16)
	for err == nil {
		_, err = file.Write(zeros)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// makers are clients that make links at two nodes until stop is called.
type makers struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	made     []string // hashes of answered calls
	refused  map[string]int
	longest  time.Duration // of a refused call
	cutShort int
}

func makeLinks(t *testing.T, key string, bases ...string) *makers {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	m := &makers{stop: stop, refused: make(map[string]int)}
	for n := range 4 {
		m.running.Go(func() {
			for number := 0; ctx.Err() == nil; number++ {
				m.one(t, key, bases[n%len(bases)], fmt.Sprintf("m%d-%d", n, number))
			}
		})
	}
	return m
}

func (m *makers) one(t *testing.T, key, base, hash string) {
	t.Helper()
	body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s","custom_hash":"%s"}]}`, hash, hash)
	request, err := e2etest.APIRequest(context.WithoutCancel(t.Context()), base, e2etest.DemoUser, key, "POST", "/urls", body)
	if err != nil {
		t.Error(err)
		return
	}
	began := time.Now()
	answer, err := e2etest.AnswerTo(request)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.made = append(m.made, hash)
	case answer == nil:
		m.cutShort++
	default:
		m.refused[fmt.Sprint(answer["error"])]++
		m.longest = max(m.longest, time.Since(began))
	}
}

func (m *makers) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.made)
}

// TestFullDiskOfPostgreSQLAlone fills the disk of PostgreSQL while two nodes serve under load. What was answered is
// there when there is space again, and everything goes on by itself. It needs root, for the disk.
func TestFullDiskOfPostgreSQLAlone(t *testing.T) {
	t.Parallel()
	i := &installtest.Installation{
		T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: installtest.FreeAddress(t),
		Base: "http://" + installtest.FreeAddress(t), Admin: "http://" + installtest.FreeAddress(t),
	}
	data := filepath.Join(i.Folder, "postgres")
	if !smallDisk(t, data, 160) {
		return
	}
	i.StartStore()
	e2etest.CopyCluster(t, data)
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
	defer cancel()
	var err error
	i.Database, err = pgserver.Start(ctx, pgserver.Config{
		Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Unsafe: true, Restart: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.StopDatabase)
	i.StartService()
	i.OpenAccount()
	base, admin := "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
	i.Serve(base, admin, "second-spool")
	for _, node := range []string{i.Admin, admin} {
		e2etest.AwaitReady(t, node, http.StatusOK, "ok")
	}

	m := makeLinks(t, i.Key, i.Base, base)
	i.Eventually("links are made", func() bool { return m.count() > 20 })
	filler := filepath.Join(data, "filler")
	fill(t, filler)
	full := time.Now()
	const refuses = `linkledger_disk_refuses_writes{disk="database"}`
	i.Eventually("the disk is named", func() bool { return i.Metric(refuses) == 1 })
	t.Logf("named in the metric after %s", time.Since(full).Round(100*time.Millisecond))
	i.Eventually("a node is not well", func() bool {
		for _, node := range []string{i.Admin, admin} {
			response, err := http.Get(node + "/health/ready")
			if err != nil {
				t.Fatalf("a node does not answer while the disk is full: %v", err)
			}
			said, err := io.ReadAll(response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != http.StatusOK {
				t.Logf("after %s: %s", time.Since(full).Round(100*time.Millisecond), said)
				return true
			}
		}
		return false
	})
	before := m.count()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	freed := time.Now()
	for _, node := range []string{i.Admin, admin} {
		e2etest.AwaitReady(t, node, http.StatusOK, "ok")
	}
	t.Logf("ready %s after there is space", time.Since(freed).Round(100*time.Millisecond))
	i.Eventually("the disk is well", func() bool { return i.Metric(refuses) == 0 })
	t.Logf("well in the metric %s after there is space", time.Since(freed).Round(100*time.Millisecond))
	i.Eventually("links are made again", func() bool { return m.count() > before+20 })
	m.stop()
	m.running.Wait()
	t.Logf("%d links made, %d calls without an answer, refused, the slowest in %s: %v", len(m.made), m.cutShort,
		m.longest.Round(time.Millisecond), m.refused)
	if m.cutShort > 0 {
		t.Errorf("%d calls were cut short", m.cutShort)
	}
	for n, hash := range m.made {
		at := []string{i.Base, base}[n%2]
		i.Eventually("the link "+hash+" is redirected", func() bool {
			redirected, err := e2etest.Visit(t.Context(), at, hash, "visitor")
			return err == nil && redirected
		})
	}
	verify := append([]string{"projections", "verify", "--all"}, i.Backends()...)
	if out, err := exec.CommandContext(t.Context(), e2etest.Program, verify...).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}
