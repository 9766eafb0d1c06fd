// Package watchedfile reads a file again when it has changed.
package watchedfile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// interval is the time between two checks of the file by Run.
const interval = time.Second

// Config of a File.
type Config struct {
	Path string
	// Content says what the file contains, for messages. An example is "countries".
	Content string
	// MaxSize is the largest size of the file, in bytes. A larger file is an error.
	MaxSize int64
	// Load reads the file at Path. If it fails, what an earlier call has read stays in use.
	Load func() error
	// Logger logs the failures of Renew, once for each version of the file.
	Logger *slog.Logger
}

// File is a file that Renew reads again when it has changed. It is not safe for concurrent use.
type File struct {
	cfg     Config
	version version // of the last attempt to read it
}

// version distinguishes versions of a file. A missing file has the zero version.
type version struct {
	modified time.Time
	size     int64
}

// Open reads the file for the first time. Its error names the content and says what is wrong with
// the file.
func Open(cfg Config) (*File, error) {
	f := &File{cfg: cfg}
	v, err := f.stat()
	if err == nil {
		err = f.load(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Content, err)
	}
	return f, nil
}

// Renew reads the file if it has changed since the last attempt. A failure is logged, and what was
// read before stays in use.
func (f *File) Renew(ctx context.Context) {
	v, err := f.stat()
	if err == nil && v == f.version {
		return
	}
	if err == nil {
		err = f.load(v)
	}
	if err != nil && v != f.version {
		f.version = v
		f.cfg.Logger.ErrorContext(ctx, "changed file cannot be read, its former content stays in "+
			"use",
			slog.String("content", f.cfg.Content), slog.Any("error", err))
	}
}

// Run renews the file every second, until ctx ends.
func (f *File) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.Renew(ctx)
		}
	}
}

func (f *File) load(v version) error {
	if v.size > f.cfg.MaxSize {
		return fmt.Errorf("%s has %d bytes, at most %d are read", f.cfg.Path, v.size, f.cfg.MaxSize)
	}
	if err := f.cfg.Load(); err != nil {
		return err
	}
	f.version = v
	return nil
}

func (f *File) stat() (version, error) {
	info, err := os.Stat(f.cfg.Path)
	if err != nil {
		return version{}, err
	}
	return version{info.ModTime(), info.Size()}, nil
}
