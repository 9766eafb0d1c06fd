package backups_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"linkledger/e2e/e2etest"
)

// TestPlantedDataFolder checks that dev refuses folders in which another user may have put a
// password or key that they know.
func TestPlantedDataFolder(t *testing.T) {
	t.Parallel()
	const stranger = 65534
	for name, test := range map[string]struct {
		plant func(folder string) error
		want  string
		root  bool // whether only root can create it
	}{
		"writable by all": {
			func(folder string) error { return os.Chmod(folder, 0o777) }, "every user of the machine can write", false,
		},
		"password": {func(folder string) error {
			access := filepath.Join(folder, "access")
			return errors.Join(os.Mkdir(
				access, 0o700,
			), os.WriteFile(filepath.Join(access, "password"), []byte("known\n"), 0o600),
				os.Chown(access, stranger, stranger))
		}, "belongs to another user", true},
		"master key": {func(folder string) error {
			key := filepath.Join(folder, "master.key")
			return errors.Join(
				os.WriteFile(key, []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), 0o600),
				os.Chown(key, stranger, stranger),
			)
		}, "belongs to another user", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := test.plant(folder); err != nil {
				if test.root && os.Geteuid() != 0 {
					return // only root can change owners, so only root's dev is exposed to this
				}
				t.Fatal(err)
			}
			dev := exec.CommandContext(t.Context(), e2etest.Program, "dev", "--data="+folder,
				"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0",
				"--postgres-bin=/nowhere")
			out, err := dev.CombinedOutput()
			e2etest.WantOneLine(t, out, err, test.want)
		})
	}
}

// TestFolderOfRoot starts dev as an ordinary user on a folder that root has copied.
func TestFolderOfRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root can make such a folder
	}
	const user = 65534
	dir := t.TempDir()
	e2etest.Shell(t, fmt.Sprintf("chmod 755 %[1]s/.. %[1]s && cp %[2]s %[1]s/linkledger", dir, e2etest.Program))
	for _, name := range []string{"master.key", "postgres", "keys"} {
		folder := filepath.Join(dir, name+" data")
		e2etest.Shell(t, fmt.Sprintf("mkdir '%[1]s' && chown %[2]d '%[1]s' && touch '%[1]s/%[3]s'", folder, user, name))
		dev := exec.CommandContext(t.Context(), filepath.Join(dir, "linkledger"), "dev", "--data="+folder,
			"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0")
		dev.Dir, dev.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := dev.CombinedOutput()
		e2etest.WantOneLine(t, out, err, fmt.Sprintf("sudo chown -R %d '%s'", user, folder))
	}
}
