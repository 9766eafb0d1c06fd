package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
			dev := exec.CommandContext(t.Context(), program, "dev", "--data="+folder,
				"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--eventstore-listen=127.0.0.1:0",
				"--postgres-bin=/nowhere")
			out, err := dev.CombinedOutput()
			wantOneLine(t, out, err, test.want)
		})
	}
}
