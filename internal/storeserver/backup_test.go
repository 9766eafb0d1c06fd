package storeserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"linkledger/events/embedded"
	"linkledger/events/embedded/backup"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
	"linkledger/events/eventstore/eventstoretest"
)

// fill writes events to the store in a folder. Some of the events are in tables.
func fill(t testing.TB, dir, name string, streams int) {
	t.Helper()
	s, err := storage.Open(storage.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range streams {
		stream := fmt.Sprintf("%s-%d", name, i)
		if out := embeddedtest.Append(s.Writer(), stream, revision.NoStream, stream+"/a", stream+"/b"); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func makeBackup(t testing.TB, dir, to string) backup.Manifest {
	t.Helper()
	made, err := Backup(t.Context(), Wanted{Folder: dir, To: to, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// content returns the files of a folder.
func content(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != "LOCK" {
			if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}

// put gives a file a content. It changes no other file that shares the content.
func put(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCheckFindsEachCut cuts, removes, swaps and changes files of a backup anywhere. A check finds
// each, and a store starts on the backup only if the damage is within a table, whose blocks have
// checksums.
func TestCheckFindsEachCut(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	store, dir := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	fill(t, store, "first", 40)
	earlier := content(t, filepath.Join(parent, func() string {
		makeBackup(t, store, filepath.Join(parent, "earlier"))
		return "earlier"
	}()))
	fill(t, store, "second", 40) // the first ones are in a table now
	makeBackup(t, store, dir)
	whole := content(t, dir)
	names := slices.Sorted(maps.Keys(whole))
	if !slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sst") }) {
		t.Fatalf("no table in %s", names)
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "file")
		text := bytes.Clone(whole[name])
		path, removed := filepath.Join(dir, name), false
		damages := []string{"cut", "flip", "remove", "swap", "grow", "add", "earlier"}
		switch rapid.SampledFrom(damages).Draw(rt, "damage") {
		case "cut":
			text = text[:rapid.IntRange(0, max(0, len(text)-1)).Draw(rt, "length")]
		case "flip":
			if len(text) > 0 {
				text[rapid.IntRange(0, len(text)-1).Draw(rt, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			}
		case "remove":
			removed = true
		case "swap":
			text = whole[rapid.SampledFrom(names).Draw(rt, "other")]
		case "grow":
			text = append(text, rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(rt, "more")...)
		case "earlier":
			if before, ok := earlier[name]; ok {
				text = before
			}
		case "add":
			path = filepath.Join(dir, "999999.log")
		}
		if filepath.Base(path) == name && !removed && bytes.Equal(text, whole[name]) {
			return
		}
		put(t, path, text)
		if removed {
			_ = os.Remove(path)
		}
		if checked, err := Check(t.Context(), dir); err == nil && checked.Problems == 0 {
			rt.Errorf("nothing is found: %+v", checked.Report)
		}
		if !strings.HasSuffix(path, ".sst") || len(text) != len(whole[name]) {
			if s, err := storage.Open(storage.Config{Dir: dir}); err == nil {
				_ = s.Close()
				t.Fatal("a store has started on it")
			}
		}
		_ = os.Remove(path)
		put(t, filepath.Join(dir, name), whole[name])
		for _, left := range []string{"CURRENT", "FORMAT.new"} {
			_ = os.Remove(filepath.Join(dir, left))
		}
	})
	if checked, err := Check(t.Context(), dir); err != nil || checked.Problems != 0 || checked.Backup == nil {
		t.Errorf("the whole backup: %+v, %v", checked, err)
	}
}

// TestStoreRunsOnABackup checks that a store starts on a backup, which is a folder of its own then.
func TestStoreRunsOnABackup(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	store, dir := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	fill(t, store, "first", 3)
	made := makeBackup(t, store, dir)
	copied := filepath.Join(parent, "copy of the copy")
	if again := makeBackup(t, dir, copied); again.Events != made.Events || again.Log != made.Log {
		t.Errorf("the copy of the copy has %+v", again)
	}
	fill(t, dir, "second", 3)
	checked, err := Check(t.Context(), dir)
	if err != nil || checked.Problems != 0 || checked.Backup != nil || checked.Events != made.Events+6 {
		t.Errorf("%+v, %v; want %d events", checked, err, made.Events+6)
	}
}

// TestBackupOfARunningStore makes backups in one place while events are appended. Each has at least
// what was acknowledged before it began.
func TestBackupOfARunningStore(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, to := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	listener := eventstoretest.Listen(t)
	server, err := Start(t.Context(), embedded.Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, listener)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	load := startLoad(t, eventstoretest.Open(t, server.url()))
	for i := range 5 {
		within(t, time.Minute, func() bool { return load.count() > 20*i })
		before := server.current().Stat().Events
		made := makeBackup(t, dir, to)
		after := server.current().Stat().Events
		checked, err := Check(t.Context(), to)
		if err != nil || checked.Problems != 0 || made.Events < before || made.Events > after {
			t.Fatalf("%d events before, %d in the backup, %d after: %+v, %v", before, made.Events, after, checked, err)
		}
	}
	load.end()
	within(t, time.Minute, func() bool { // the end of a call releases its state
		kept, err := os.ReadDir(filepath.Join(dir, "backup.tmp"))
		return err == nil && len(kept) == 0
	})
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 2 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// TestLaterBackupSharesTables checks that a later backup has the tables of the earlier one without
// reading them, and takes none of another store that has the same name.
func TestLaterBackupSharesTables(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	store, to := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	fill(t, store, "first", 10)
	fill(t, store, "second", 10)
	made := makeBackup(t, store, to)
	// Another file of the same content in the backup shows whether the file of the store is read.
	var table string
	for _, f := range made.Files {
		if strings.HasSuffix(f.Name, ".sst") {
			table = filepath.Join(to, f.Name)
		}
	}
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	put(t, table, text)
	before, err := os.Stat(table)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, store, "third", 10)
	later := makeBackup(t, store, to)
	after, err := os.Stat(table)
	if err != nil || !os.SameFile(before, after) || later.Events != made.Events+20 {
		t.Errorf("the table is not shared: %v, %d events, %d before", err, later.Events, made.Events)
	}
	if checked, err := Check(t.Context(), to); err != nil || checked.Problems != 0 {
		t.Errorf("%+v, %v", checked, err)
	}
}

// TestBackupRefusals checks that a backup replaces nothing that it does not contain, and makes no
// folder above its own.
func TestBackupRefusals(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	path := func(name string) string { return filepath.Join(parent, name) }
	fill(t, path("events"), "first", 3)
	fill(t, path("other"), "first", 9)
	fill(t, path("short"), "first", 1)
	makeBackup(t, path("events"), path("backup"))
	makeBackup(t, path("events"), path("longer"))
	restored := path("restored")
	makeBackup(t, path("events"), restored)
	fill(t, path("events"), "second", 3)
	makeBackup(t, path("events"), path("longer"))
	if err := os.Mkdir(path("taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"no parent":     {path("events"), path("not/there"), "is its disk mounted"},
		"another store": {path("other"), path("backup"), "another log"},
		"no backup":     {path("events"), path("taken"), "no backup"},
		"fewer events":  {restored, path("longer"), "but the log has only"},
		"no store":      {path("nothing"), path("new"), "no event store"},
	} {
		_, err := Backup(t.Context(), Wanted{Folder: c.from, To: c.to})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, left := range []string{"not", "taken.partial", "backup.partial", "longer.partial", "new"} {
		if _, err := os.Lstat(path(left)); err == nil {
			t.Errorf("%s is there", left)
		}
	}
}

// TestFailedBackupKeepsTheLastOne ends backups at many points, as a full disk does. The last one
// stays whole, and the next one succeeds.
func TestFailedBackupKeepsTheLastOne(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	store, to := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	fill(t, store, "first", 5)
	made := makeBackup(t, store, to)
	for i := range 10 {
		fill(t, store, fmt.Sprintf("more %d", i), 5)
		ctx, cancel := context.WithCancel(t.Context())
		folder := filepath.Join(to+".partial", "left")
		if err := os.MkdirAll(folder, 0o700); err != nil { // of a process that was killed
			t.Fatal(err)
		}
		var ended sync.WaitGroup
		ended.Go(cancel)
		again, err := Backup(ctx, Wanted{Folder: store, To: to})
		ended.Wait()
		if err == nil {
			made = again
		}
		checked, err := Check(t.Context(), to)
		if err != nil || checked.Problems != 0 || checked.Events != made.Events {
			t.Fatalf("%+v, %v; want %d events", checked, err, made.Events)
		}
	}
	if later := makeBackup(t, store, to); later.Events <= made.Events-1 {
		t.Errorf("%d events, and %d before", later.Events, made.Events)
	}
	if _, err := os.Lstat(to + ".partial"); err == nil {
		t.Error("a draft is left")
	}
}

// TestBackupToAFullDisk lets the disk of the backups fill up at many points. The last one stays
// whole, nothing is left of the others, and once there is room the next one succeeds.
func TestBackupToAFullDisk(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	store, small := filepath.Join(parent, "events"), filepath.Join(parent, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=8m"); err != nil {
		t.Logf("a disk that fills up is not tried here: no mount: %v", err)
		return
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	fill(t, store, "first", 20)
	to := filepath.Join(small, "backup")
	made := makeBackup(t, store, to)
	ballast := filepath.Join(small, "ballast")
	failed := 0
	for i := range 12 {
		fill(t, store, fmt.Sprintf("more %d", i), 20)
		if err := os.WriteFile(ballast, make([]byte, (8<<20)-(i+1)*(200<<10)), 0o600); err != nil &&
			!errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		again, err := Backup(t.Context(), Wanted{Folder: store, To: to})
		if err == nil {
			made = again
		} else {
			failed++
		}
		checked, err := Check(t.Context(), to)
		if err != nil || checked.Problems != 0 || checked.Events != made.Events {
			t.Fatalf("%+v, %v; want %d events", checked, err, made.Events)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(small); err != nil || len(left) != 1 {
			t.Errorf("there is %v, %v", left, err)
		}
	}
	if failed == 0 {
		t.Error("the disk was never full")
	}
	if again := makeBackup(t, store, to); again.Events <= made.Events && failed == 12 {
		t.Errorf("%d events, %d before", again.Events, made.Events)
	}
}
