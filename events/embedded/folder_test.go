package embedded_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"linkledger/events/embedded"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/servertest"
)

// TestDiskFillsUp fills the disk under a running store. It checks that the append returns the
// reason of its refusal, and that all acknowledged events are in the store after space was freed.
func TestDiskFillsUp(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	full := errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
			return fmt.Errorf("write %s: %w", op.Path, syscall.ENOSPC)
		}
		return nil
	})}
	store, err := embedded.Open(embedded.Config{Dir: "store", FS: errorfs.Wrap(disk, &full)})
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.ServeFailing(t, store)
	embeddedtest.Append(s.Writer(), "s", revision.NoStream, "a")
	full.On()
	_, err = servertest.RawAppend(t, servertest.DialRaw(t, s), servertest.OptionsReq("s"), servertest.EventReq(servertest.Proposed("b")))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no space left on device") {
		t.Fatalf("append: %v", err)
	}
	if st := s.Stat(); !errors.Is(st.Failure, syscall.ENOSPC) {
		t.Fatalf("stat: %+v", st)
	}
	full.Off()
	_ = store.Close() // Close returns the failure again
	again, err := embedded.Open(embedded.Config{Dir: "store", FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	checked, err := again.Check(servertest.Context(t))
	if err != nil || checked.Problems != 0 || checked.Events != again.Stat().Events {
		t.Fatalf("%+v, %v; want %d events and no problem", checked, err, again.Stat().Events)
	}
	if out := embeddedtest.Append(again.Writer(), "s", 0, "c"); out.Err != nil {
		t.Fatal(out.Err)
	}
}
