package backups

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linkledger/events/embedded/backup"
	"linkledger/internal/config"
	"linkledger/internal/datafolder"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
)

// Restored describes what a restored backup contained.
type Restored struct {
	Backup   string    `json:"backup"` // path
	Time     time.Time `json:"time"`   // of the backup
	Version  string    `json:"version"`
	Events   uint64    `json:"events"`
	Links    uint64    `json:"links_created"`
	Accounts uint64    `json:"accounts_opened"`
	Last     time.Time `json:"last_event"`
	Keys     int       `json:"keys"` // of accounts and people
	Sessions int       `json:"sessions"`
}

// Rows returns the rows of a table that shows r.
func (r Restored) Rows() [][2]any {
	return [][2]any{
		{"backup", r.Backup},
		{"time", r.Time.Format(time.RFC3339)},
		{"version", r.Version},
		{"events", r.Events},
		{"links created", r.Links},
		{"accounts opened", r.Accounts},
		{"last event", r.Last.UTC().Format(time.RFC3339Nano)},
		{"keys", r.Keys},
		{"sessions", r.Sessions},
	}
}

// ToFolder restores a backup to a new data folder of dev. The folder appears only when it is
// complete.
func ToFolder(
	ctx context.Context, from, folder string, sealing config.Sealing,
) (r Restored, err error) {
	master, err := sealing.Keys()
	if err != nil {
		return r, usage.Wrap(err)
	}
	set, m, err := find(from)
	if err != nil {
		return r, err
	}
	if m.Sealed && master == nil {
		return r, config.ExplainKey(keyfile.ErrNoMasterKey)
	}
	export := keyfile.OpenExport(filepath.Join(set, keysFolder), master)
	draft, err := beginEmpty(folder)
	if err != nil {
		return r, err
	}
	defer draft.End()
	if r, err = copyLog(ctx, set, m, filepath.Join(draft.Path, eventsFolder)); err != nil {
		return r, err
	}
	if master, err = keepMaster(draft.Path, sealing, master); err != nil {
		return r, err
	}
	kept := keyfile.OpenCopy(filepath.Join(draft.Path, keysFolder), master)
	restored, err := export.CopyTo(kept)
	if err == nil {
		err = kept.Check()
	}
	if err != nil {
		return r, config.ExplainKey(fmt.Errorf("restore the keys: %w", err))
	}
	r.Keys, r.Sessions = restored.Keys, restored.Sessions
	if err := keepSigningKey(draft.Path, export); err != nil {
		return r, err
	}
	return r, draft.Finish()
}

// keepMaster writes the master key to a new data folder. If master is nil, it makes a new key.
func keepMaster(
	folder string, sealing config.Sealing, master *keyfile.MasterKey,
) (*keyfile.MasterKey, error) {
	if master == nil {
		made, err := datafolder.MasterKey(folder)
		if err != nil {
			return nil, err
		}
		return config.Sealing{MasterKey: made}.Keys()
	}
	return master, datafolder.SaveMasterKey(folder, sealing.MasterKey)
}

func keepSigningKey(folder string, export *keyfile.Copy) error {
	quoted, err := export.SigningKey()
	if err != nil || quoted == "" {
		return err
	}
	var key string
	if err := json.Unmarshal([]byte(quoted), &key); err != nil {
		return err
	}
	return datafolder.SaveSigningKey(folder, key)
}

// ToBackends restores a backup to the folder of an embedded event store and to an empty database.
// It loads the keys before the folder gets its name, so a service never finds the log while the
// keys are missing.
func ToBackends(
	ctx context.Context, from, folder string, keys *keystore.Keys,
) (r Restored, err error) {
	set, m, err := find(from)
	if err != nil {
		return r, err
	}
	if m.Sealed && keys.Master == nil {
		return r, config.ExplainKey(keyfile.ErrNoMasterKey)
	}
	empty, err := keys.IsEmpty(ctx)
	if err != nil {
		return r, err
	}
	if !empty {
		return r, usage.Errorf("the database is not empty: it has a schema linkledger or " +
			"linkledger_durable. Restore to a new one (CREATE DATABASE)")
	}
	draft, err := beginEmpty(folder)
	if err != nil {
		return r, err
	}
	defer draft.End()
	if r, err = copyLog(ctx, set, m, draft.Path); err != nil {
		return r, err
	}
	restored, err := keys.Load(
		ctx, keyfile.OpenExport(filepath.Join(set, keysFolder), keys.Master),
	)
	if err != nil {
		return r, config.ExplainKey(err)
	}
	r.Keys, r.Sessions = restored.Keys, restored.Sessions
	if err := draft.Finish(); err != nil {
		return r, fmt.Errorf("%w; the keys are in the database, and another attempt needs an "+
			"empty one", err)
	}
	return r, nil
}

// beginEmpty begins a draft of a folder that does not exist or is empty.
func beginEmpty(folder string) (*backup.Draft, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf("cannot restore to %s: %w", folder, err)
	}
	if len(entries) > 0 {
		return nil, usage.Errorf("%s is not empty: a backup is restored to a new folder", folder)
	}
	draft, err := backup.Begin(folder)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return draft, nil
}

// copyLog copies the log of a backup, and checks that the copy is as the manifests say.
func copyLog(ctx context.Context, set string, m *Manifest, to string) (r Restored, err error) {
	log, err := m.check(ctx, set)
	if err != nil {
		return r, err
	}
	if err := os.Mkdir(to, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return r, err
	}
	names := []string{backup.ManifestFile, backup.FormatFile}
	for _, f := range log.Files {
		names = append(names, f.Name)
	}
	for _, name := range names {
		if _, err := backup.CopyFile(
			ctx, filepath.Join(set, eventsFolder, name), filepath.Join(to, name),
		); err != nil {
			return r, err
		}
	}
	checked, err := storeserver.Check(ctx, to)
	if err != nil {
		return r, err
	}
	if checked.Problems > 0 {
		return r, fmt.Errorf("%s: %w: %s, and %d more", set, backup.ErrDamaged,
			checked.First[0].What, checked.Problems-1)
	}
	r = Restored{
		Backup: set, Time: m.Time, Version: m.Version, Events: checked.Events, Last: checked.Last,
		Accounts: checked.Types["account.opened.v1"],
	}
	for kind, n := range checked.Types {
		if strings.HasPrefix(kind, "url.created.") {
			r.Links += n
		}
	}
	return r, backup.SyncTree(to)
}
