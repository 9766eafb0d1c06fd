package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
)

// storeFolder names the data folder of an event store, which may be running.
type storeFolder struct {
	Dir  string `arg:"" help:"Data folder of the event store; of linkledger dev, its data folder with /events."`
	JSON bool   `help:"Print JSON."`
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
	stat, err := statOf(ctx, c.Dir)
	if err != nil {
		return err
	}
	return c.print(p.Stdout, stat, stat.rows())
}

// eventstoreCheck verifies a store.
type eventstoreCheck struct{ storeFolder }

// Run implements the command. It fails when anything is wrong.
func (c *eventstoreCheck) Run(ctx context.Context, p *process) error {
	checked, err := checkStore(ctx, c.Dir)
	if err != nil {
		return err
	}
	rows := [][2]any{{"events", checked.Events}, {"streams", checked.Streams}, {"problems", checked.Problems}}
	for _, found := range checked.First {
		rows = append(rows, [2]any{fmt.Sprintf("position %d", found.Position), fmt.Sprintf("stream %q: %s", found.Stream, found.What)})
	}
	if err := c.print(p.Stdout, checked, rows); err != nil {
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
	To string `arg:"" help:"Folder to create, with the copy; a store can run on it."`
}

// Run implements the command.
func (c *eventstoreBackup) Run(ctx context.Context, p *process) error {
	to, err := filepath.Abs(c.To)
	if err != nil {
		return usageError(err)
	}
	stat, err := backupStore(ctx, c.Dir, to, p.Logger)
	if err != nil {
		return err
	}
	return c.print(p.Stdout, stat, append([][2]any{{"backup", to}}, stat.rows()...))
}
