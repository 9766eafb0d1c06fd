package serveruser_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linkledger/internal/pgserver/serveruser"
)

func TestExplainSaysWhatToDo(t *testing.T) {
	t.Parallel()
	refused := &fs.PathError{Op: "fork/exec", Path: "postgres", Err: syscall.EPERM}
	a := serveruser.User{Name: "nobody", Drop: true}
	if got := a.Explain(refused).Error(); !strings.Contains(got, "run as an ordinary user") {
		t.Errorf("refused user: %s", got)
	}
}

// TestCanReach checks that a user enters the folders whose mode lets them.
func TestCanReach(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := serveruser.User{Name: "stranger", UID: 1 << 30, GID: 1 << 30, Drop: true}
	for path, want := range map[string]bool{"/etc": true, filepath.Join(folder, "cluster"): false} {
		if got, err := stranger.CanReach(path); err != nil || got != want {
			t.Errorf("%s: %t, %v, want %t", path, got, err, want)
		}
	}
	stranger.Drop = false // the user of this process
	if got, err := stranger.CanReach(filepath.Join(folder, "cluster")); err != nil || !got {
		t.Errorf("the user of this process: %t, %v", got, err)
	}
}

// TestSysProcAttr checks that a process ends with its parent, and has the user's rights alone.
func TestSysProcAttr(t *testing.T) {
	t.Parallel()
	user := serveruser.User{Name: "other", UID: 7, GID: 8, Drop: true}
	attr := user.SysProcAttr(syscall.SIGINT)
	if attr.Pdeathsig != syscall.SIGINT || !attr.Setpgid || attr.Credential == nil || attr.Credential.Uid != 7 ||
		attr.Credential.Gid != 8 {
		t.Errorf("%+v", attr)
	}
	user.Drop = false
	if attr := user.SysProcAttr(syscall.SIGINT); attr.Credential != nil {
		t.Errorf("a process of the same user becomes %+v", attr.Credential)
	}
}
