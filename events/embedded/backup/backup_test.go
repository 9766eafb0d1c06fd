package backup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestDecodeFindsEachByte changes, cuts and extends a manifest anywhere.
func TestDecodeFindsEachByte(t *testing.T) {
	t.Parallel()
	whole, err := Encode(Manifest{Version: "v", Events: 7, Files: []File{{Name: "a.sst", Size: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	var m Manifest
	if err := Decode(whole, &m); err != nil || m.Events != 7 || len(m.Files) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	for length := range whole {
		if err := Decode(whole[:length], &m); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", length, err)
		}
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[length] ^= 1 << bit
			if err := Decode(changed, &m); !errors.Is(err, ErrDamaged) {
				t.Errorf("bit %d of byte %d: %v", bit, length, err)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		more := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "more")
		if err := Decode(append(bytes.Clone(whole), more...), &m); !errors.Is(err, ErrDamaged) {
			t.Errorf("with %q: %v", more, err)
		}
	})
}

// draftWith begins a folder with one file.
func draftWith(t *testing.T, to, text string) *Draft {
	t.Helper()
	d, err := Begin(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(d.Path, "file"), []byte(text)); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDraft checks that a folder has its name when it is complete, and that one process writes it.
func TestDraft(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	to := filepath.Join(parent, "folder")
	text := func() string {
		found, err := os.ReadFile(filepath.Join(to, "file"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(found)
	}
	given := draftWith(t, to, "given up")
	if _, err := Begin(to); !errors.Is(err, ErrBusy) {
		t.Errorf("two at once: %v", err)
	}
	given.End()
	for _, want := range []string{"first", "second"} { // the second one changes places with the first
		before := text()
		d := draftWith(t, to, want)
		if text() != before {
			t.Error("the folder changed before its draft was complete")
		}
		if err := d.Finish(); err != nil {
			t.Fatal(err)
		}
		d.End()
		if text() != want {
			t.Errorf("the folder has %q, want %q", text(), want)
		}
	}
	if err := os.MkdirAll(filepath.Join(to+draftSuffix, "left"), folderMode); err != nil { // of a killed process
		t.Fatal(err)
	}
	d := draftWith(t, to, "third")
	if err := d.FinishAs(filepath.Join(parent, "other")); err != nil {
		t.Fatal(err)
	}
	d.End()
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 2 || text() != "second" {
		t.Errorf("there is %v, %v; %q", entries, err, text())
	}
	if _, err := Begin(filepath.Join(parent, "not", "there")); err == nil || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("without a parent: %v", err)
	}
}

// TestReadTellsBackups checks what is a backup, and what is one that lacks something.
func TestReadTellsBackups(t *testing.T) {
	t.Parallel()
	manifest, err := Encode(Manifest{Events: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  error
	}{
		"a backup":         {map[string]string{FormatFile: FormatText, ManifestFile: string(manifest)}, nil},
		"a store":          {map[string]string{FormatFile: "linkledger events 1\n"}, ErrNone},
		"adopted halfway":  {map[string]string{FormatFile: "linkledger events 1\n", ManifestFile: "x"}, ErrNone},
		"nothing":          {nil, ErrNone},
		"without manifest": {map[string]string{FormatFile: FormatText}, ErrDamaged},
		"without format":   {map[string]string{ManifestFile: string(manifest)}, ErrDamaged},
		"another manifest": {map[string]string{FormatFile: FormatText, ManifestFile: "{}\n"}, ErrDamaged},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := WriteFile(filepath.Join(dir, file), []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(vfs.Default, dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
