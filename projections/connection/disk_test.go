package connection_test

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/connection"
)

// TestErrorsOfTheDisk checks which errors are of a disk, and that its trouble ends when none comes any more.
func TestErrorsOfTheDisk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    pgconn.PgError
		ofDisk bool
	}{
		"no space":             {pgconn.PgError{Code: "53100", File: "md.c"}, true},
		"input/output error":   {pgconn.PgError{Code: "58030", File: "xlog.c"}, true},
		"read-only":            {pgconn.PgError{Code: "42501", File: "md.c"}, true},
		"quota":                {pgconn.PgError{Code: "XX000", File: "fd.c"}, true},
		"no right":             {pgconn.PgError{Code: "42501", File: "aclchk.c"}, false},
		"internal error":       {pgconn.PgError{Code: "XX000", File: "execMain.c"}, false},
		"too many connections": {pgconn.PgError{Code: "53300", File: "proc.c"}, false},
		"duplicate":            {pgconn.PgError{Code: "23505", File: "nbtinsert.c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				disk := connection.NewDisk(slog.New(slog.DiscardHandler))
				var cfg pgx.ConnConfig
				disk.Guard(&cfg)
				cfg.OnPgError(nil, &tc.err)
				time.Sleep(2 * time.Second)
				cfg.OnPgError(nil, &tc.err)
				time.Sleep(2 * time.Second)
				if got := disk.Trouble() != nil; got != tc.ofDisk {
					t.Errorf("trouble: %v, want %v", got, tc.ofDisk)
				}
				time.Sleep(2 * time.Second)
				if err := disk.Trouble(); err != nil {
					t.Errorf("4 s after the last error: %v, want no trouble", err)
				}
			})
		})
	}
}

// TestDiskHearsOfErrors lets PostgreSQL answer with an error of its disk. The caller gets it too.
func TestDiskHearsOfErrors(t *testing.T) {
	t.Parallel()
	disk := connection.NewDisk(slog.New(slog.DiscardHandler))
	readers, writers, err := connection.OpenPools(t.Context(), postgrestest.NewDatabase(t), 2, disk.Guard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		readers.Close()
		writers.Close()
	})
	_, err = writers.Exec(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$")
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "53100" {
		t.Fatalf("the caller got %v, want the error 53100", err)
	}
	if disk.Trouble() == nil {
		t.Error("the disk has no trouble, want what PostgreSQL said")
	}
}
