package disk

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestLogsHoldWhatWasWritten checks that a log holds the written bytes, and after them either zeros
// or, if it was reused, its previous bytes.
func TestLogsHoldWhatWasWritten(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	log, err := newZeroedFS(disk).Create("1.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	before := writeAll(t, log, 100, 32<<10, zeroChunk+1)
	behind := expectBeginning(t, disk, "1.log", before)
	if len(behind) == 0 || len(bytes.Trim(behind, "\x00")) > 0 {
		t.Errorf("the %d bytes after the written ones are not all zero", len(behind))
	}
	if log, err = newZeroedFS(disk).ReuseForWrite("1.log", "2.log", vfs.WriteCategoryUnspecified); err != nil {
		t.Fatal(err)
	}
	after := writeAll(t, log, 1, 500)
	if behind = expectBeginning(t, disk, "2.log", after); !bytes.HasPrefix(behind, before[len(after):]) {
		t.Error("a reused log was filled although it was long enough")
	}
}

func writeAll(t *testing.T, log vfs.File, sizes ...int) (written []byte) {
	t.Helper()
	for i, size := range sizes {
		p := bytes.Repeat([]byte{byte(1 + i)}, size)
		written = append(written, p...) // before the write: under the race detector, files in memory overwrite p
		if n, err := log.Write(p); n != size || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, size, err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return written
}

// expectBeginning checks that a file begins with the given bytes and returns the rest.
func expectBeginning(t *testing.T, disk vfs.FS, name string, want []byte) []byte {
	t.Helper()
	f, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, want) {
		t.Fatalf("%s has %d bytes and does not begin with the %d that were written", name, len(got), len(want))
	}
	return got[len(want):]
}

// TestLogsAreWrittenWithoutZeros checks that a write succeeds even if there is no space for the
// zeros after it.
func TestLogsAreWrittenWithoutZeros(t *testing.T) {
	t.Parallel()
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileWriteAt {
			return errors.New("no room")
		}
		return nil
	}))
	log, err := newZeroedFS(disk).Create("1.log", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	for range 3 {
		if n, err := log.Write([]byte("record")); n != 6 || err != nil {
			t.Errorf("wrote %d: %v", n, err)
		}
	}
}

// TestOtherFilesAreNotFilled checks that only logs are filled, because the length of other files
// matters.
func TestOtherFilesAreNotFilled(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	f, err := newZeroedFS(disk).Create("1.sst", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte("table"))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := disk.Stat("1.sst"); err != nil || info.Size() != 5 {
		t.Errorf("got %v, %v", info, err)
	}
}
