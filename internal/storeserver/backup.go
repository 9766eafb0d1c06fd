package storeserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/backup"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/storage"
	"linkledger/events/embedded/storecheck"
	"linkledger/internal/usage"
)

// Checked is what a check has found in a folder.
type Checked struct {
	storecheck.Report

	// Backup says what a backup must hold. It is nil if the folder is not a backup but that of a
	// store, whose log may end at any event.
	Backup *backup.Manifest `json:"-"`
}

// Check verifies every record of the store in a folder. It compares a backup with its manifest.
func Check(ctx context.Context, dir string) (checked Checked, err error) {
	manifest, err := backup.Read(vfs.Default, dir)
	if errors.Is(err, backup.ErrDamaged) {
		checked.Add(storecheck.Problem{What: err.Error()})
		return checked, nil
	}
	if err != nil { // no backup, or nothing at all
		checked.Report, err = readFolder(ctx, dir, http.MethodPost, "/check",
			func(f *storage.Folder) (storecheck.Report, error) { return f.Check(ctx) })
		return checked, err
	}
	checked.Backup = manifest
	problems, err := manifest.Compare(ctx, vfs.Default, dir, false)
	if err != nil {
		return checked, fmt.Errorf("check the backup: %w", err)
	}
	for _, what := range problems {
		checked.Add(storecheck.Problem{What: what})
	}
	if len(problems) > 0 {
		return checked, nil
	}
	folder, err := storage.OpenFolder(storage.Config{Dir: dir})
	if err != nil {
		return checked, usage.Wrap(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if checked.Report, err = folder.Check(ctx); err != nil {
		return checked, err
	}
	stat, err := folder.Stat()
	if err == nil && (stat.Events != manifest.Events || stat.Head != manifest.Head) {
		checked.Add(storecheck.Problem{Position: stat.Head, What: fmt.Sprintf(
			"the backup ends with event %d here, and must end with event %d at position %d",
			stat.Events, manifest.Events, manifest.Head,
		)})
	}
	return checked, err
}

// Wanted says which backup to make.
type Wanted struct {
	Folder  string // of the store
	To      string // path of the backup
	Former  string // path of an earlier backup to share files with; empty: the one in To
	Draft   bool   // To is an empty folder that is part of a draft
	Version string // of the program
}

// Backup makes a backup of a store, which may be running. It replaces an earlier backup at the same
// path and shares its files.
func Backup(ctx context.Context, w Wanted) (made backup.Manifest, err error) {
	source, end, err := frozenState(ctx, w.Folder)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if isWithin(w.To, w.Folder) {
		return made, usage.Errorf("the folder of the store is no place for its backup")
	}
	if made, err = describe(source.folder); err != nil {
		return made, err
	}
	made.Version, made.Time = w.Version, source.at.UTC()
	if w.Draft {
		return backup.WriteInto(ctx, source.path, w.To, w.Former, made)
	}
	if w.Former == "" {
		w.Former = w.To
	}
	return backup.Write(ctx, source.path, w.To, w.Former, made)
}

// isWithin reports whether a path is a folder or leads into it.
func isWithin(path, folder string) bool {
	outer, err := os.Stat(folder)
	for ; err == nil; path = filepath.Dir(path) {
		if inner, err := os.Stat(path); err == nil && os.SameFile(inner, outer) {
			return true
		}
		if path == filepath.Dir(path) {
			break
		}
	}
	return false
}

// state is a state of a store that no longer changes.
type state struct {
	path   string
	folder *storage.Folder
	at     time.Time
}

// frozenState returns the present state of a store, which may be running. The state does not change
// until end is called. If the store is not running, no process can open its folder until then.
func frozenState(ctx context.Context, dir string) (s state, end func() error, err error) {
	s.path, s.at = dir, time.Now()
	s.folder, err = storage.OpenFolder(storage.Config{Dir: dir})
	if err == nil {
		return s, s.folder.Close, nil
	}
	if !errors.Is(err, disk.ErrLocked) {
		return s, nil, usage.Wrap(err)
	}
	kept, release, err := openCall[frozen](ctx, dir, http.MethodPost, "/freeze")
	if err != nil {
		return s, nil, err
	}
	s.path = filepath.Join(dir, filepath.FromSlash(kept.Folder))
	if s.folder, err = storage.OpenFolder(storage.Config{Dir: s.path}); err != nil {
		release()
		return s, nil, err
	}
	return s, func() error {
		defer release()
		return s.folder.Close()
	}, nil
}

// describe returns what a backup of a state must hold.
func describe(folder *storage.Folder) (m backup.Manifest, err error) {
	stat, err := folder.Stat()
	if err != nil {
		return m, err
	}
	log, err := folder.Log()
	return backup.Manifest{
		Log: log, Events: stat.Events, Streams: stat.Streams, Head: stat.Head,
	}, err
}
