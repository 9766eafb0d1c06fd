package datafolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"linkledger/internal/usage"
)

// buildingFile exists while the read models are built in a new database.
const buildingFile = "building"

// BeginBuild notes that the read models of a data folder are built in a new database. The note
// stays until EndBuild, also if the process is killed.
func BeginBuild(folder string) error {
	file, err := os.OpenFile(filepath.Join(folder, buildingFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(file.Sync(), file.Close(), syncFolder(folder))
	}
	if err != nil {
		return usage.Errorf("cannot write to the data folder: %w", err)
	}
	return nil
}

// Building reports whether the read models of a data folder are not complete yet.
func Building(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, buildingFile))
	return err == nil
}

// EndBuild notes that the read models of a data folder are complete.
func EndBuild(folder string) error {
	err := os.Remove(filepath.Join(folder, buildingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
