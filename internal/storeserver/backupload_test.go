package storeserver

import (
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"linkledger/events/embedded"
	"linkledger/events/embedded/backup"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

// fillQuickly writes events of some 300 bytes to the store in a folder.
func fillQuickly(t testing.TB, dir, name string, events int) {
	t.Helper()
	s, err := storage.Open(storage.Config{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < events; at += 100 {
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprint(name, at+i)
			for range 6 {
				names[i] += rand.Text()
			}
		}
		if out := embeddedtest.Append(s.Writer(), fmt.Sprint(name, at), revision.NoStream, names...); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// backupEvents is how many events TestBackupBesideLoad backs up. It judges the times only from manyEvents on: a smaller
// backup ends before a load notices it.
var backupEvents = flag.Int(
	"backup-events", 200_000, "how many events TestBackupBesideLoad backs up; make backups does 10,000,000",
)

const manyEvents = 10_000_000

// TestBackupBesideLoad backs up a log beside a load, and backs it up again with 10,000 new events. It reports what both
// take and how much of the load goes on. It measures, so no other test of the package runs beside it.
func TestBackupBesideLoad(t *testing.T) { //nolint:paralleltest // it measures
	soak.NotShort(t)
	parent := t.TempDir()
	dir, to := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
	fillQuickly(t, dir, "first", *backupEvents)
	listener := eventstoretest.Listen(t)
	server, err := Start(t.Context(), embedded.Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, listener)
	if err != nil {
		t.Fatal(err)
	}
	load := startLoad(t, eventstoretest.Open(t, server.url()))
	rate := func(run func()) float64 {
		before, began := server.current().Stat().Events, time.Now()
		run()
		return float64(server.current().Stat().Events-before) / time.Since(began).Seconds()
	}
	pause := func() { <-time.After(time.Duration(soak.N(1, 3)) * time.Second) }
	if *backupEvents >= manyEvents {
		pause = func() { <-time.After(10 * time.Second) }
	}
	pause()
	alone := rate(pause)
	var took time.Duration
	var made backup.Manifest
	beside := rate(func() {
		began := time.Now()
		made = makeBackup(t, dir, to)
		took = time.Since(began)
	})
	again := rate(pause)
	load.end()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	const more = 10_000
	fillQuickly(t, dir, "next", more)
	began := time.Now()
	next := makeBackup(t, dir, to)
	tookNext, goesOn := time.Since(began), 2*beside/(alone+again)
	t.Logf("%d events in %s, beside a load of which %.0f %% goes on (%.0f events a second alone); the next in %s",
		made.Events, took, 100*goesOn, (alone+again)/2, tookNext)
	if made.Events < uint64(*backupEvents) || next.Events < made.Events+more {
		t.Errorf("backups of %d and %d events", made.Events, next.Events)
	}
	if goesOn == 0 {
		t.Error("the load stands still beside a backup")
	}
	if *backupEvents >= manyEvents && (goesOn < 0.9 || tookNext > time.Second) {
		t.Error("the first may slow a load by 10 %, and the next may take a second")
	}
}
