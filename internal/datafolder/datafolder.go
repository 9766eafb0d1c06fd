package datafolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"linkledger/internal/usage"
)

// Check refuses a folder in which other users of the machine may have put a password or a key that
// they know, or may still do.
func Check(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return usage.Errorf("cannot look at the data folder: %w", err)
	}
	const others = 0o002
	if info.Mode()&others != 0 {
		return usage.Errorf("every user of the machine can write to the data folder %s: look who "+
			"has put what there, and close it with chmod o-w; "+
			"or choose another with --data (%s)", folder, usage.Env("data"))
	}
	for _, name := range []string{accessFolder, masterKeyFile} {
		path := filepath.Join(folder, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return usage.Errorf("cannot look at the data folder: %w", err)
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
			return usage.Errorf(
				"%s belongs to another user of the machine, who may know what is in it: run as "+
					"that user, or give it to this one with chown",
				path,
			)
		}
	}
	return nil
}
