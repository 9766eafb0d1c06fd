package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"linkledger/events/embedded/backup"
	"linkledger/internal/secret"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
)

// Source is an installation to back up.
type Source struct {
	Events     string         // folder of the embedded event store
	Keys       *keystore.Keys // with the master key, if there is one
	SigningKey secret.Text    // that belongs to the installation; empty: it is kept elsewhere
	Version    string         // of the program
}

// Make makes a backup of an installation in a folder of backups. The installation may be running.
// Afterwards Make removes the oldest backups until keep are left. At any time the folder has the
// last complete backup. Files of the log that the last backup has are not read again.
func Make(
	ctx context.Context, s Source, folder string, keep int,
) (set string, m Manifest, err error) {
	began := time.Now()
	if err := makeFolder(folder); err != nil {
		return "", m, err
	}
	next, err := backup.Begin(filepath.Join(folder, draft))
	if err != nil {
		return "", m, err
	}
	defer next.End()
	former, last, err := Newest(folder)
	if err != nil && !errors.Is(err, ErrNoBackup) && !errors.Is(err, backup.ErrDamaged) {
		return "", m, err
	}
	if m, err = fill(ctx, s, next.Path, former, last); err != nil {
		return "", m, fmt.Errorf("backup to %s: %w", folder, err)
	}
	m.Duration = time.Since(began).Round(time.Millisecond)
	text, err := backup.Encode(m)
	if err != nil {
		return "", m, err
	}
	if err := backup.WriteFile(filepath.Join(next.Path, manifestFile), text); err != nil {
		return "", m, err
	}
	set = nameFor(folder, m.Time, former)
	if err := next.FinishAs(set); err != nil {
		return "", m, err
	}
	return set, m, prune(folder, keep)
}

// makeFolder makes the folder of the backups, but no folder above it. So if a disk is not mounted,
// makeFolder does not fill its mount point.
func makeFolder(folder string) error {
	err := os.Mkdir(folder, folderMode)
	if errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("the folder %s does not exist: is its disk mounted? If it is, make "+
			"the folder", filepath.Dir(folder))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return usage.Errorf("cannot make the folder of the backups: %w", err)
	}
	return nil
}

// nameFor returns the path of a backup that is made at a time. Its name sorts after the name of the
// backup former, even if the clock was set back.
func nameFor(folder string, at time.Time, former string) string {
	if last, err := time.Parse(nameForm, filepath.Base(former)); err == nil {
		if earliest := last.Add(time.Millisecond); at.Before(earliest) {
			at = earliest
		}
	}
	return filepath.Join(folder, at.UTC().Format(nameForm))
}

// fill copies the log and the keys to a draft.
func fill(
	ctx context.Context, s Source, path, former string, last *Manifest,
) (m Manifest, err error) {
	if err := s.Keys.CheckMaster(ctx); err != nil {
		return m, err
	}
	copied := keyfile.NewExport(filepath.Join(path, keysFolder), s.Keys.Master)
	var log backup.Manifest
	wanted := storeserver.Wanted{
		Folder: s.Events, To: filepath.Join(path, eventsFolder), Draft: true, Version: s.Version,
	}
	if err := os.Mkdir(wanted.To, folderMode); err != nil {
		return m, err
	}
	if former != "" {
		wanted.Former = filepath.Join(former, eventsFolder)
	}
	err = s.Keys.Export(ctx, copied, func() (err error) {
		if log, err = storeserver.Backup(ctx, wanted); err != nil || last == nil {
			return err
		}
		before := backup.Manifest{Log: last.Log, Events: last.Events}
		return before.CheckSuccessor(former, log)
	})
	if err != nil {
		return m, err
	}
	if s.SigningKey != "" {
		quoted, err := json.Marshal(string(s.SigningKey))
		if err != nil {
			return m, err
		}
		if err := copied.SetSigningKey(string(quoted)); err != nil {
			return m, err
		}
	}
	files, err := describe(path)
	return Manifest{
		Version: s.Version, Time: log.Time, Log: log.Log, Events: log.Events, Head: log.Head,
		Sealed: s.Keys.Master != nil, Files: files,
	}, err
}
