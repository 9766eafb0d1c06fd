package destination

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/commands/domain"
)

func TestBlocklist(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "blocked")
	if _, err := ReadBlocklist(path, slog.New(slog.DiscardHandler)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	changes := 0
	save := func(hosts string) {
		t.Helper()
		changes++
		if err := os.WriteFile(path, []byte(hosts), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(changes) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	save("# what we do not link to\nEvil.example.  # and all below\n\n 192.0.2.1\n")
	var log strings.Builder
	list, err := ReadBlocklist(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(host string, want bool) {
		t.Helper()
		if got := list.Blocks(host); got != want {
			t.Errorf("blocks %s: %v", host, got)
		}
	}
	changed := func() { list.checked = time.Time{} } // as if a second had passed
	for host, want := range map[string]bool{
		"evil.example": true, "www.evil.example": true, "a.b.evil.example": true, "192.0.2.1": true,
		"notevil.example": false, "example": false, "evil.example.com": false, "": false,
	} {
		blocks(host, want)
	}
	save("other.example\n")
	blocks("evil.example", true) // the file is not read again yet
	changed()
	blocks("evil.example", false)
	blocks("other.example", true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		changed()
		blocks("other.example", true)
	}
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("logged %d times:\n%s", got, log.String())
	}
	save("third.example\n")
	changed()
	blocks("third.example", true)

	rules := Rules{Blocked: list.Blocks}
	for long, allowed := range map[string]bool{
		"https://third.example/x": false, "HTTPS://Sub.THIRD.example.:8443": false, "https://fourth.example": true,
	} {
		err := rules.Check(long, "")
		refused, ok := errors.AsType[*domain.Error](err)
		if allowed != (err == nil) || !allowed && (!ok || refused.Kind != domain.URLNotAllowed) {
			t.Errorf("%s: %v", long, err)
		}
	}
}
