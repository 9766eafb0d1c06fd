package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"text/tabwriter"

	"linkledger/events/embedded"
	"linkledger/events/embedded/disk"
	"linkledger/events/embedded/storage"
	"linkledger/events/embedded/storecheck"
)

// storeFolder names the data folder of an event store, which may be running.
type storeFolder struct {
	Dir  string `arg:"" help:"Data folder of the event store. With linkledger dev it is the folder events in --data."`
	JSON bool   `help:"Print JSON."`
}

// read reads the folder of a stopped store with offline, and asks the process of a running one.
func read[T any](ctx context.Context, f storeFolder, method, path string, offline func(*storage.Folder) (T, error)) (value T, err error) {
	folder, err := storage.OpenFolder(storage.Config{Dir: f.Dir}) // what it would log is in what it returns
	if errors.Is(err, disk.ErrLocked) {
		return askStore[T](ctx, f.Dir, method, path, nil)
	}
	if err != nil {
		return value, usageError{err}
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return offline(folder)
}

// print shows a value as JSON or as a table with one line per row.
func (f storeFolder) print(w io.Writer, value any, rows [][2]any) error {
	if f.JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintf(table, "%v\t%v\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return table.Flush()
}

// eventstoreStat shows counts and positions.
type eventstoreStat struct{ storeFolder }

// Run implements the command.
func (c *eventstoreStat) Run(ctx context.Context, p *process) error {
	stat, err := read(ctx, c.storeFolder, http.MethodGet, "/stat", func(f *storage.Folder) (storeStat, error) {
		st, err := f.Stat()
		return newStoreStat(embedded.Stat{Stat: st}, false), err
	})
	if err != nil {
		return err
	}
	return c.print(p.stdout, stat, stat.rows())
}

func (s storeStat) rows() [][2]any {
	state := "stopped"
	switch {
	case s.Failure != "":
		state = s.Failure
	case s.Running:
		state = fmt.Sprintf("running, %d subscriptions", s.Subscriptions)
	}
	return [][2]any{{"state", state}, {"events", s.Events}, {"streams", s.Streams}, {"head", s.Head}, {"bytes on disk", s.DiskBytes}}
}

// eventstoreCheck verifies a store.
type eventstoreCheck struct{ storeFolder }

// Run implements the command. It fails when anything is wrong.
func (c *eventstoreCheck) Run(ctx context.Context, p *process) error {
	checked, err := read(ctx, c.storeFolder, http.MethodPost, "/check", func(f *storage.Folder) (storecheck.Report, error) {
		return f.Check(ctx)
	})
	if err != nil {
		return err
	}
	rows := [][2]any{{"events", checked.Events}, {"streams", checked.Streams}, {"problems", checked.Problems}}
	for _, found := range checked.First {
		rows = append(rows, [2]any{fmt.Sprintf("position %d", found.Position), fmt.Sprintf("stream %q: %s", found.Stream, found.What)})
	}
	if err := c.print(p.stdout, checked, rows); err != nil {
		return err
	}
	if checked.Problems > 0 {
		return fmt.Errorf("the event store in %s has %d problems: restore it from a backup", c.Dir, checked.Problems)
	}
	return nil
}

// eventstoreBackup copies a store.
type eventstoreBackup struct {
	storeFolder
	To string `arg:"" help:"Folder to create for the copy. A store can run on it."`
}

// Run implements the command.
func (c *eventstoreBackup) Run(ctx context.Context, p *process) error {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return usageError{err}
	}
	stat, err := c.copy(ctx, p, to)
	if err != nil {
		return err
	}
	return c.print(p.stdout, stat, append([][2]any{{"backup", to}}, stat.rows()...))
}

func (c *eventstoreBackup) copy(ctx context.Context, p *process, to string) (stat storeStat, err error) {
	// Only a folder that holds a store is opened for it: opening creates one otherwise.
	folder, err := storage.OpenFolder(storage.Config{Dir: c.Dir})
	if errors.Is(err, disk.ErrLocked) {
		return askStore[storeStat](ctx, c.Dir, http.MethodPost, "/backup", backupRequest{To: to})
	}
	if err != nil {
		return stat, usageError{err}
	}
	if err := folder.Close(); err != nil {
		return stat, err
	}
	store, err := embedded.Open(embedded.Config{Dir: c.Dir, Logger: p.logger})
	if err != nil {
		return stat, usageError{err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return newStoreStat(store.Stat(), false), store.Backup(to)
}
