package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"linkledger/cmd/linkledger/internal/command"
	"linkledger/internal/console"
	"linkledger/internal/storeserver"
	"linkledger/internal/usage"
)

// storeFolder has the flags of a command on the data folder of an event store, which may be running
// or not.
type storeFolder struct {
	Dir  string `arg:"" help:"${store_folder}"`
	JSON bool   `help:"Print JSON."`
}

type eventstoreStat struct{ storeFolder }

// Run prints the counts and positions of the store.
func (c *eventstoreStat) Run(ctx context.Context, p *command.Process) error {
	stat, err := storeserver.ReadStat(ctx, c.Dir)
	if err != nil {
		return err
	}
	return console.Pairs(p.Stdout, c.JSON, stat, stat.Rows())
}

type eventstoreCheck struct{ storeFolder }

// Run prints what the check finds. It fails if the check finds a problem.
func (c *eventstoreCheck) Run(ctx context.Context, p *command.Process) error {
	checked, err := storeserver.Check(ctx, c.Dir)
	if err != nil {
		return err
	}
	kind := "folder of a store"
	if checked.Backup != nil {
		kind = "backup of " + checked.Backup.Time.Format(time.RFC3339)
	}
	rows := [][2]any{
		{"checked", kind},
		{"events", checked.Events},
		{"streams", checked.Streams},
		{"problems", checked.Problems},
	}
	for _, found := range checked.First {
		what := found.What
		if found.Stream != "" {
			what = fmt.Sprintf("stream %q: %s", found.Stream, what)
		}
		rows = append(rows, [2]any{fmt.Sprintf("position %d", found.Position), what})
	}
	if err := console.Pairs(p.Stdout, c.JSON, checked, rows); err != nil {
		return err
	}
	if checked.Problems > 0 {
		return fmt.Errorf(
			"the event store in %s has %d problems: restore it from a backup", c.Dir,
			checked.Problems,
		)
	}
	return nil
}

type eventstoreBackup struct {
	storeFolder
	To string `arg:"" help:"${backup_to}"`
}

// Run creates or replaces the copy and prints its contents.
func (c *eventstoreBackup) Run(ctx context.Context, p *command.Process) error {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return usage.Wrap(err)
	}
	made, err := storeserver.Backup(
		ctx, storeserver.Wanted{Folder: c.Dir, To: to, Version: version},
	)
	if err != nil {
		return err
	}
	bytes := int64(0)
	for _, f := range made.Files {
		bytes += f.Size
	}
	return console.Pairs(p.Stdout, c.JSON, made, [][2]any{
		{"backup", to},
		{"events", made.Events},
		{"streams", made.Streams},
		{"head", made.Head},
		{"files", len(made.Files)},
		{"bytes", bytes},
	})
}
