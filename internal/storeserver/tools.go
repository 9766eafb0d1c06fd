package storeserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/storage"
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
	shown := "stopped"
	switch {
	case s.Failure != "":
		shown = s.Failure
	case s.Running:
		shown = fmt.Sprintf("running, %d subscriptions", s.Subscriptions)
	}
	return [][2]any{
		{"state", shown},
		{"events", s.Events},
		{"streams", s.Streams},
		{"head", s.Head},
		{"bytes on disk", s.DiskBytes},
	}
}

// readFolder calls offline on the folder of a stopped store. If the store runs, readFolder asks the
// process of the store.
func readFolder[T any](
	ctx context.Context, dir, method, path string, offline func(*storage.Folder) (T, error),
) (value T, err error) {
	// The folder gets no logger, because the result has all that it would log.
	folder, err := storage.OpenFolder(storage.Config{Dir: dir})
	if errors.Is(err, disk.ErrLocked) {
		return callSocket[T](ctx, dir, method, path)
	}
	if err != nil {
		return value, usage.Wrap(err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return offline(folder)
}
