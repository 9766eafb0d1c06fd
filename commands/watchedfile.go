package commands

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// watchedFile is a file that is read again when it has changed. One that can then not be read leaves what there was, and
// is logged once. It is not safe for concurrent use.
type watchedFile struct {
	path   string
	what   string // is in it, for people
	most   int64  // of it is read, in bytes
	load   func() error
	logger *slog.Logger
	read   fileVersion
}

// fileVersion tells versions of a file apart.
type fileVersion struct {
	modified time.Time
	size     int64
}

// open reads the file for the first time. Its error is about the file.
func (f *watchedFile) open() error {
	version, err := versionOf(f.path)
	if err == nil {
		err = f.loadVersion(version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.what, err)
	}
	return nil
}

// renew reads the file again if it has changed.
func (f *watchedFile) renew(ctx context.Context) {
	version, err := versionOf(f.path)
	if err == nil && version == f.read {
		return
	}
	if err == nil {
		err = f.loadVersion(version)
	}
	if err != nil && f.read != version {
		f.read = version // a version that cannot be read is logged once
		f.logger.ErrorContext(ctx, "what was read from a file stays as it was", slog.String("of", f.what), slog.Any("error", err))
	}
}

func (f *watchedFile) loadVersion(version fileVersion) error {
	if version.size > f.most {
		return fmt.Errorf("%s has %d bytes, at most %d are read", f.path, version.size, f.most)
	}
	if err := f.load(); err != nil {
		return err
	}
	f.read = version
	return nil
}

// versionOf returns the version of a file; zero for one that is not there.
func versionOf(path string) (fileVersion, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{info.ModTime(), info.Size()}, nil
}
