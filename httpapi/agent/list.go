package agent

import (
	"context"
	"log/slog"
	"sync/atomic"

	"linkledger/commands/watchedfile"
	"linkledger/robots"
)

// List has the table of robots that is in use: the built-in table, with the changes that a file
// makes to it. Run reads the file again when it has changed. List is safe for concurrent use.
type List struct {
	path  string
	file  *watchedfile.File // touched by Run only; nil: the built-in table is in use
	table atomic.Pointer[robots.Table]
}

// NewList returns a list with the built-in table.
func NewList() *List {
	l := new(List)
	l.table.Store(robots.BuiltIn())
	return l
}

// ReadList returns a list with the built-in table and the changes that a file makes to it. It
// returns an error if the file cannot be used.
func ReadList(path string, logger *slog.Logger) (*List, error) {
	l := &List{path: path}
	file, err := watchedfile.Open(watchedfile.Config{
		Path: path, Content: "agents", MaxSize: robots.MaxFile, Load: l.load, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	l.file = file
	return l, nil
}

// Table returns the table that is in use.
func (l *List) Table() *robots.Table { return l.table.Load() }

// Run checks every second whether the file has changed, until ctx ends. If the list has no file,
// Run only waits for the end of ctx.
func (l *List) Run(ctx context.Context) error {
	if l.file == nil {
		<-ctx.Done()
		return nil
	}
	l.file.Run(ctx)
	return nil
}

func (l *List) load() error {
	table, err := robots.ReadFile(l.path)
	if err != nil {
		return err
	}
	l.table.Store(table)
	return nil
}
