package datafolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"linkledger/internal/usage"
)

// Check refuses a data folder that other users of the machine can write to. It also refuses a data
// folder in which the password or the master key belongs to another user, who could know it.
func Check(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return usage.Errorf("cannot read the data folder: %w", err)
	}
	if !info.IsDir() {
		return usage.Errorf(
			"%s is not a folder; choose another with --data (%s)", folder, usage.Env("data"),
		)
	}
	const others = 0o002
	if info.Mode()&others != 0 {
		return usage.Errorf("every user of the machine can write to the data folder %s: check its "+
			"files, and close it with chmod o-w; or choose another with --data (%s)", folder,
			usage.Env("data"))
	}
	for _, name := range []string{accessFolder, masterKeyFile} {
		path := filepath.Join(folder, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return usage.Errorf("cannot read the data folder: %w", err)
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
			return usage.Errorf(
				"%s belongs to another user of the machine, who may know its content: run as "+
					"that user, or give it to this one with chown",
				path,
			)
		}
	}
	return checkOwner(folder)
}

// checkOwner refuses a data folder with files of another user, as after cp -r by root. Root can use
// the files of all users.
func checkOwner(folder string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	for _, name := range []string{
		masterKeyFile, signingKeyFile, accessFolder, keysFolder, "events", "spool", "postgres",
	} {
		path := filepath.Join(folder, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue // the code that needs the file reports the error
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
			return usage.Errorf(
				"%s belongs to another user of the machine: run as that user, or give the folder "+
					"to this one with sudo chown -R %d '%s'", path, os.Geteuid(), folder,
			)
		}
	}
	return nil
}
