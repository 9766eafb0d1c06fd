package storeserver

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"linkledger/events/embedded"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
	"linkledger/events/eventstore/eventstoretest"
)

// fillQuickly writes events of some 300 bytes to the store in a folder.
func fillQuickly(b *testing.B, dir, name string, events int) {
	b.Helper()
	s, err := storage.Open(storage.Config{Dir: dir, NoSync: true})
	if err != nil {
		b.Fatal(err)
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
			b.Fatal(out.Err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkBackup reports what a first backup and the next one of 10,000 new events take, and how
// much of a load goes on beside the first one. It is run with -benchtime 1x.
func BenchmarkBackup(b *testing.B) {
	const events = 1_500_000
	for b.Loop() {
		parent := b.TempDir()
		dir, to := filepath.Join(parent, "events"), filepath.Join(parent, "backup")
		fillQuickly(b, dir, "first", events)
		listener := eventstoretest.Listen(b)
		server, err := Start(b.Context(), embedded.Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, listener)
		if err != nil {
			b.Fatal(err)
		}
		load := startLoad(b, eventstoretest.Open(b, server.url()))
		rate := func(run func()) float64 {
			before, began := server.current().Stat().Events, time.Now()
			run()
			return float64(server.current().Stat().Events-before) / time.Since(began).Seconds()
		}
		pause := func() { <-time.After(3 * time.Second) }
		pause()
		alone := rate(pause)
		beside := rate(func() {
			began := time.Now()
			made := makeBackup(b, dir, to)
			b.ReportMetric(time.Since(began).Seconds(), "first-s")
			b.Logf("%d events", made.Events)
		})
		again := rate(pause)
		b.ReportMetric(2*beside/(alone+again), "load-beside/alone")
		load.end()
		if err := server.Stop(); err != nil {
			b.Fatal(err)
		}
		fillQuickly(b, dir, "next", 10_000)
		began := time.Now()
		makeBackup(b, dir, to)
		b.ReportMetric(time.Since(began).Seconds(), "next-s")
	}
}
