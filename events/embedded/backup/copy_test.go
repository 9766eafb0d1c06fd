package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"linkledger/events/embedded/backup"
)

// TestCopyFile checks that a copy has the content of the file, with the right digest and size.
func TestCopyFile(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{
		"empty": 0, "small": 1, "one chunk": 256 << 10, "several chunks": 600_001, "several syncs": 5 << 20,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			content := bytes.Repeat([]byte("0123456"), size/7+1)[:size]
			if err := os.WriteFile(from, content, 0o600); err != nil {
				t.Fatal(err)
			}
			digest := sha256.Sum256(content)
			want := backup.File{Name: "to", Size: int64(size), SHA256: hex.EncodeToString(digest[:])}
			if copied, err := backup.CopyFile(t.Context(), from, to); err != nil || copied != want {
				t.Errorf("the copy is %+v, %v; want %+v", copied, err, want)
			}
			if written, err := os.ReadFile(to); err != nil || !bytes.Equal(written, content) {
				t.Errorf("the copy has %d bytes, %v; want the %d of the file", len(written), err, size)
			}
		})
	}
}

// TestCopyFileFails checks that no copy replaces a file, and that a copy ends with its context.
func TestCopyFileFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, kept := filepath.Join(dir, "from"), filepath.Join(dir, "kept")
	for path, content := range map[string][]byte{from: make([]byte, 1<<20), kept: []byte("kept")} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	for name, tc := range map[string]struct {
		ctx      context.Context //nolint:containedctx // of one case
		from, to string
		want     error
	}{
		"to a file that exists": {t.Context(), from, kept, fs.ErrExist},
		"from no file":          {t.Context(), from + "x", filepath.Join(dir, "of none"), fs.ErrNotExist},
		"ended":                 {ended, from, filepath.Join(dir, "of ended"), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if copied, err := backup.CopyFile(tc.ctx, tc.from, tc.to); !errors.Is(err, tc.want) {
				t.Errorf("the copy is %+v, %v; want %v", copied, err, tc.want)
			}
			if content, err := os.ReadFile(kept); err != nil || string(content) != "kept" {
				t.Errorf("the file that exists has %d bytes, %v", len(content), err)
			}
		})
	}
}
