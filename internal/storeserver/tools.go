package storeserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/storage"
	"linkledger/events/embedded/storecheck"
	"linkledger/internal/usage"
)

// ReadStat returns the state of the store in a folder.
func ReadStat(ctx context.Context, dir string) (Stat, error) {
	return readFolder(ctx, dir, http.MethodGet, "/stat", func(f *storage.Folder) (Stat, error) {
		st, err := f.Stat()
		return newStat(embedded.Stat{Stat: st}, false), err
	})
}

// Rows returns the rows of a table that shows the state.
func (s Stat) Rows() [][2]any {
	state := "stopped"
	switch {
	case s.Failure != "":
		state = s.Failure
	case s.Running:
		state = fmt.Sprintf("running, %d subscriptions", s.Subscriptions)
	}
	return [][2]any{
		{"state", state},
		{"events", s.Events},
		{"streams", s.Streams},
		{"head", s.Head},
		{"bytes on disk", s.DiskBytes},
	}
}

// Check verifies every record of the store in a folder.
func Check(ctx context.Context, dir string) (storecheck.Report, error) {
	return readFolder(
		ctx, dir, http.MethodPost, "/check",
		func(f *storage.Folder) (storecheck.Report, error) { return f.Check(ctx) },
	)
}

// Backup copies the store in a folder to a new folder, whose path MUST be absolute.
func Backup(ctx context.Context, dir, to string, logger *slog.Logger) (stat Stat, err error) {
	// OpenFolder fails if there is no store. embedded.Open would create one.
	folder, err := storage.OpenFolder(storage.Config{Dir: dir})
	if errors.Is(err, disk.ErrLocked) {
		return callSocket[Stat](ctx, dir, http.MethodPost, "/backup", backupRequest{To: to})
	}
	if err != nil {
		return stat, usage.Wrap(err)
	}
	if err := folder.Close(); err != nil {
		return stat, err
	}
	store, err := embedded.Open(embedded.Config{Dir: dir, Logger: logger})
	if err != nil {
		return stat, usage.Wrap(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return newStat(store.Stat(), false), store.Backup(to)
}

// readFolder reads the folder of a stopped store with offline. If the store runs, it asks its
// process.
func readFolder[T any](
	ctx context.Context, dir, method, path string, offline func(*storage.Folder) (T, error),
) (value T, err error) {
	// No logger: the result has all that it would log.
	folder, err := storage.OpenFolder(storage.Config{Dir: dir})
	if errors.Is(err, disk.ErrLocked) {
		return callSocket[T](ctx, dir, method, path, nil)
	}
	if err != nil {
		return value, usage.Wrap(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return offline(folder)
}
