package storage

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storecheck"
)

func wantClean(t *testing.T, checked storecheck.Report, err error, want Stat) {
	t.Helper()
	if err != nil || checked.Problems != 0 || checked.Events != want.Events {
		t.Fatalf("%+v, %v; want %d events and no problem", checked, err, want.Events)
	}
}

func TestCheckOfASoundStore(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	s := openOn(t, disk)
	embeddedtest.Fill(t, s.writer)
	checked, err := s.Check(t.Context())
	wantClean(t, checked, err, s.Stat())
	name, release, err := s.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	copied := disk.PathJoin("store", name)
	embeddedtest.Append(s.writer, "s", revision.Any, "after the backup")
	f, err := OpenFolder(Config{Dir: copied, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	checked, err = f.Check(t.Context())
	stat, statErr := f.Stat()
	if err := errors.Join(err, statErr, f.Close()); err != nil {
		t.Fatal(err)
	}
	wantClean(t, checked, err, stat)
	if stat.Events+1 != s.Stat().Events {
		t.Fatalf("%d events in the backup, %d in the store", stat.Events, s.Stat().Events)
	}
	again, err := Open(Config{Dir: copied, FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	if out := embeddedtest.Append(again.writer, "url-1", 1, "goes on"); out.Err != nil {
		t.Fatalf("append to the backup: %v", out.Err)
	}
	if err := errors.Join(again.Close(), release()); err != nil {
		t.Error(err)
	}
	if _, err := disk.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state is still there: %v", err)
	}
}

func TestCheckEnds(t *testing.T) {
	t.Parallel()
	s := openBare(t)
	for i := range 2048 {
		embeddedtest.Append(s.writer, "s", int64(i-1), strconv.Itoa(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if checked, err := s.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%+v, %v; want canceled", checked, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Check(t.Context()); !errors.Is(err, groupcommit.ErrClosed) {
		t.Fatalf("check after close: %v", err)
	}
	if _, _, err := s.Freeze(); !errors.Is(err, groupcommit.ErrClosed) {
		t.Fatalf("backup after close: %v", err)
	}
}
