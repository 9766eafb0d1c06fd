package images_test

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"linkledger/e2e/installtest"
)

// largestImage bounds the size of the image, which contains only the program and the certificates.
// Webhooks have added 0.4 MB.
const largestImage = 46_000_000

// TestImage checks the program in the image. It is small and statically linked, contains the list of its modules, and
// runs in an otherwise empty root folder.
func TestImage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	binary := filepath.Join(root, "linkledger")
	build := exec.Command("make", "--no-print-directory", "-C", "../..", "build", "BINARY="+binary, "VERSION=v1.2.3-test")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the program has %.1f MB", float64(info.Size())/1e6)
	if info.Size() > largestImage-1_000_000 { // the certificates take less than that
		t.Errorf("it takes %d bytes", info.Size())
	}
	wantStatic(t, binary)
	built, err := buildinfo.ReadFile(binary)
	if err != nil ||
		!slices.ContainsFunc(
			built.Deps, func(m *debug.Module) bool { return strings.HasPrefix(m.Path, "github.com/EventStore/") },
		) {
		t.Errorf("its modules are %v, %v", built, err)
	}
	wantRunsAlone(t, root)
}

func wantStatic(t *testing.T, binary string) {
	t.Helper()
	file, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("it is linked dynamically: %v", segment.Type)
		}
	}
}

// wantRunsAlone runs the program as another user with a root folder that contains nothing else, as
// in the image. If the test does not run as root, it needs a user namespace, which some machines do
// not allow.
func wantRunsAlone(t *testing.T, root string) {
	t.Helper()
	data := filepath.Join(root, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	alone := &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() == 0 {
		const nobody = 65532
		alone.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(data, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		for folder := root; folder != os.TempDir() && folder != "/"; folder = filepath.Dir(folder) {
			if err := os.Chmod(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		alone.Cloneflags = syscall.CLONE_NEWUSER
		alone.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		alone.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	version := exec.Command("/linkledger", "--version")
	version.SysProcAttr, version.Dir, version.Env = alone, "/", []string{}
	out, err := version.CombinedOutput()
	if err != nil && os.Geteuid() != 0 {
		t.Logf("this machine allows only root to run a program in another root folder: %v", err)
		return
	}
	if err != nil || strings.TrimSpace(string(out)) != "v1.2.3-test" {
		t.Errorf("its version: %v: %s", err, out)
	}

	store := exec.Command("/linkledger", "eventstore")
	store.SysProcAttr, store.Dir = alone, "/"
	store.Env = []string{"LINKLEDGER_DATA=/data/events", "LINKLEDGER_LISTEN=127.0.0.1:0", "LINKLEDGER_LOG_FORMAT=json"}
	log := installtest.LogOf(t, store)
	if err := store.Start(); err != nil {
		t.Fatal(err)
	}
	log.Await(`"msg":"event store is ready"`)
	if err := store.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := store.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}
