package connection

// This file learns from the errors of PostgreSQL whether its disk takes writes.

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/condition"
)

// diskDoubt is how long a disk counts as failing after an error of PostgreSQL. Projectors whose
// writes fail try again after 1.5 s at the latest, so a disk that still fails causes another error
// in that time.
const diskDoubt = 3 * time.Second

// fileAccess are the source files of PostgreSQL that read and write its files. An error of
// PostgreSQL names the source file that it comes from. ofDisk looks at that name, because the code
// of an error is not enough: PostgreSQL reports a read-only file system with the code of a missing
// right, and an exhausted quota with the code of an internal error.
var fileAccess = []string{"md.c", "fd.c", "xlog.c", "buffile.c", "slru.c"}

// Disk knows whether the disk of PostgreSQL takes writes. It is safe for concurrent use.
type Disk struct {
	log *condition.Log

	mu   sync.Mutex
	last error
	ends *time.Timer
}

// NewDisk returns a Disk that takes writes until PostgreSQL reports an error of the disk. The Disk
// logs when that changes.
func NewDisk(logger *slog.Logger) *Disk {
	return &Disk{log: condition.New(logger,
		"the disk of the database takes no writes: give it space, or repair it; links are "+
			"redirected meanwhile", "the disk of the database takes writes again")}
}

// Guard makes the disk learn of the errors that PostgreSQL sends to connections that are made with
// cfg.
func (d *Disk) Guard(cfg *pgx.ConnConfig) {
	next := cfg.OnPgError
	cfg.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		if ofDisk(err) {
			d.fail(err)
		}
		return next == nil || next(conn, err)
	}
}

// Trouble returns the last error of PostgreSQL about its disk, or nil if the disk takes writes.
func (d *Disk) Trouble() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *Disk) fail(err error) {
	d.mu.Lock()
	d.last = err
	if d.ends == nil {
		d.ends = time.AfterFunc(diskDoubt, d.recover)
	}
	d.ends.Reset(diskDoubt)
	d.mu.Unlock()
	d.log.Report(context.Background(), err)
}

func (d *Disk) recover() {
	d.mu.Lock()
	d.last = nil
	d.mu.Unlock()
	d.log.Report(context.Background(), nil)
}

// ofDisk reports whether an error says that a file could not be written or read.
func ofDisk(err *pgconn.PgError) bool {
	switch err.Code {
	case "53100", "58030": // no space, input/output error
		return true
	case "42501", "XX000":
		return slices.Contains(fileAccess, err.File)
	}
	return false
}
