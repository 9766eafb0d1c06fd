package backups

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"linkledger/events/embedded/backup"
	"linkledger/events/embedded/embeddedtest"
	"linkledger/events/embedded/revision"
	"linkledger/events/embedded/storage"
	"linkledger/internal/config"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/secret"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }

const testTimeout = 2 * time.Minute

// sealing has the master key of the tests.
var sealing = config.Sealing{
	MasterKey: secret.Text(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, keyfile.MasterKeySize))),
}

// place is an installation without a running service.
type place struct {
	t      *testing.T
	source Source
	dsn    string
}

func openKeys(t *testing.T, dsn string, with config.Sealing) *keystore.Keys {
	t.Helper()
	db, err := readmodel.Open(t.Context(), dsn, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if db.Keys.Master, err = with.Keys(); err != nil {
		t.Fatal(err)
	}
	return db.Keys
}

func newPlace(t *testing.T, with config.Sealing) *place {
	t.Helper()
	p := &place{t: t, dsn: postgrestest.NewDatabase(t)}
	p.source = Source{
		Events: filepath.Join(t.TempDir(), "events"), Keys: openKeys(t, p.dsn, with), Version: "v",
		SigningKey: "signs",
	}
	if err := p.source.Keys.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.append("first", 5)
	return p
}

// append appends events, and makes a key and a secret.
func (p *place) append(name string, n int) {
	p.t.Helper()
	s, err := storage.Open(storage.Config{Dir: p.source.Events})
	if err != nil {
		p.t.Fatal(err)
	}
	for i := range n {
		stream := fmt.Sprintf("%s-%d", name, i)
		if out := embeddedtest.Append(s.Writer(), stream, revision.NoStream, stream); out.Err != nil {
			p.t.Fatal(out.Err)
		}
	}
	_, err = p.source.Keys.Secret(p.t.Context(), name, 32)
	if err == nil && p.source.Keys.Master != nil {
		_, err = p.source.Keys.MakeAccountKey(p.t.Context(), uuid.NewString())
	}
	if err := errors.Join(err, s.Close()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) make(folder string, keep int) (string, Manifest) {
	p.t.Helper()
	set, m, err := Make(p.t.Context(), p.source, folder, keep)
	if err != nil {
		p.t.Fatal(err)
	}
	return set, m
}

// TestBackupsGrow makes several backups in one place. The last ones stay, and each can be restored.
func TestBackupsGrow(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	folder := filepath.Join(t.TempDir(), "backups")
	var made []Manifest
	for i := range 5 {
		p.append(fmt.Sprintf("more %d", i), 3)
		_, m := p.make(folder, 3)
		made = append(made, m)
	}
	found, err := sets(folder)
	if err != nil || len(found) != 3 {
		t.Fatalf("there are %s, %v", found, err)
	}
	for i, set := range append(found, folder) {
		want := made[min(i+2, 4)]
		dsn := postgrestest.NewDatabase(t)
		to := filepath.Join(t.TempDir(), "events")
		r, err := ToBackends(t.Context(), set, to, openKeys(t, dsn, sealing))
		if err != nil || r.Events != want.Events || r.Keys != min(i+2, 4)+2 {
			t.Errorf("%s: %+v, %v; want %d events", set, r, err, want.Events)
		}
		wantSameKeys(t, p, dsn, i >= 2)
		s, err := storage.Open(storage.Config{Dir: to})
		if err != nil {
			t.Fatal(err)
		}
		if s.Stat().Events != want.Events {
			t.Errorf("the store has %d events", s.Stat().Events)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// wantSameKeys compares the secrets of two databases.
func wantSameKeys(t *testing.T, p *place, dsn string, all bool) {
	t.Helper()
	keys := openKeys(t, dsn, sealing)
	for _, name := range []string{"first", "more 0", "more 4"} {
		want, err := p.source.Keys.StoredSecret(t.Context(), name, 32)
		if err != nil {
			t.Fatal(err)
		}
		got, err := keys.StoredSecret(t.Context(), name, 32)
		if name == "more 4" && !all {
			if err == nil {
				t.Errorf("an earlier backup has a later secret")
			}
		} else if !bytes.Equal(got, want) || err != nil {
			t.Errorf("%s: %x, %v; want %x", name, got, err, want)
		}
	}
}

// TestRestoreRefuses checks what is not restored, and that nothing is written then.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	parent := t.TempDir()
	folder := filepath.Join(parent, "backups")
	p.make(folder, 3)
	full := filepath.Join(parent, "full")
	if err := os.MkdirAll(filepath.Join(full, "file"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := config.Sealing{
		MasterKey: secret.Text(base64.StdEncoding.EncodeToString(make([]byte, keyfile.MasterKeySize))),
	}
	for name, c := range map[string]struct {
		from, to string
		with     config.Sealing
		want     string
	}{
		"not empty":        {folder, full, sealing, "is not empty"},
		"no parent":        {folder, filepath.Join(parent, "a", "b"), sealing, "is its disk mounted"},
		"no master key":    {folder, filepath.Join(parent, "new"), config.Sealing{}, "--master-key"},
		"other master key": {folder, filepath.Join(parent, "new"), other, "--master-key"},
		"no backup":        {parent, filepath.Join(parent, "new"), sealing, "there is no backup"},
	} {
		if _, err := ToFolder(t.Context(), c.from, c.to, c.with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for _, left := range []string{"new", "new.partial", "a", "full.partial"} {
		if _, err := os.Lstat(filepath.Join(parent, left)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", left, err)
		}
	}
	if _, err := ToBackends(t.Context(), folder, filepath.Join(parent, "events"), p.source.Keys); err == nil ||
		!strings.Contains(err.Error(), "the database is not empty") {
		t.Errorf("to a full database: %v", err)
	}
	if _, err := ToFolder(t.Context(), folder, filepath.Join(parent, "new"), sealing); err != nil {
		t.Errorf("to a new folder: %v", err)
	}
}

// TestBackupWithoutMasterKey restores an installation that seals nothing.
func TestBackupWithoutMasterKey(t *testing.T) {
	t.Parallel()
	p := newPlace(t, config.Sealing{})
	folder := filepath.Join(t.TempDir(), "backups")
	p.make(folder, 1)
	dsn := postgrestest.NewDatabase(t)
	if _, err := ToBackends(
		t.Context(), folder, filepath.Join(t.TempDir(), "events"), openKeys(t, dsn, config.Sealing{}),
	); err != nil {
		t.Error(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	if _, err := ToFolder(t.Context(), folder, data, config.Sealing{}); err != nil {
		t.Error(err)
	}
	if key, err := os.ReadFile(filepath.Join(data, "master.key")); err != nil || len(key) == 0 {
		t.Errorf("dev needs a master key: %v", err)
	}
}

// TestRestoreFindsEachCut damages a backup anywhere. Nothing of it is restored.
func TestRestoreFindsEachCut(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	p.append("more", 5)
	parent := t.TempDir()
	set, m := p.make(filepath.Join(parent, "backups"), 1)
	var files []string
	if err := filepath.WalkDir(set, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && e.Name() != "LOCK" {
			files = append(files, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	rapid.Check(t, func(rt *rapid.T) {
		path := rapid.SampledFrom(files).Draw(rt, "file")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Clone(whole)
		removed := false
		switch rapid.SampledFrom([]string{"cut", "flip", "remove"}).Draw(rt, "damage") {
		case "cut":
			text = text[:rapid.IntRange(0, max(0, len(text)-1)).Draw(rt, "length")]
		case "flip":
			if len(text) > 0 {
				text[rapid.IntRange(0, len(text)-1).Draw(rt, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			}
		case "remove":
			removed = true
		}
		if !removed && bytes.Equal(text, whole) {
			return
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if !removed {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		to := filepath.Join(parent, "restored")
		if r, err := ToFolder(t.Context(), set, to, sealing); err == nil {
			rt.Errorf("%s: restored %+v", path, r)
			_ = os.RemoveAll(to)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	to := filepath.Join(parent, "whole")
	if r, err := ToFolder(t.Context(), set, to, sealing); err != nil || r.Events != m.Events {
		t.Errorf("the whole one: %+v, %v", r, err)
	}
}

// TestFailedBackupsKeepTheLast interrupts backups. The last whole one can be restored, and the remains of interrupted
// ones do not hinder the next.
func TestFailedBackupsKeepTheLast(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	folder := filepath.Join(t.TempDir(), "backups")
	first, _ := p.make(folder, 1)
	for _, left := range []string{"next.partial/events", "outdated.partial/keys"} { // of killed processes
		if err := os.MkdirAll(filepath.Join(folder, left), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Make(ctx, p.source, folder, 1); err == nil {
		t.Error("a backup that was ended is whole")
	}
	if set, _, err := Newest(folder); err != nil || set != first {
		t.Errorf("the newest is %s, %v", set, err)
	}
	draft, err := backup.Begin(filepath.Join(folder, "next"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Make(t.Context(), p.source, folder, 1); !errors.Is(err, backup.ErrBusy) {
		t.Errorf("beside another one: %v", err)
	}
	draft.End()
	second, _ := p.make(folder, 1)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(second) {
		t.Errorf("there is %v, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(second, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "restored")
	if _, err := ToFolder(t.Context(), folder, to, sealing); !errors.Is(err, backup.ErrDamaged) {
		t.Errorf("without its manifest: %v", err)
	}
}

// TestSchedule makes a backup when it is due, shows its age, and says why it fails.
func TestSchedule(t *testing.T) {
	t.Parallel()
	p := newPlace(t, sealing)
	folder := filepath.Join(t.TempDir(), "backups")
	cfg := ScheduleConfig{
		BackingUp: config.BackingUp{Backup: folder, BackupEvery: time.Hour, BackupKeep: 2}, Events: p.source.Events,
		Logger: slog.New(slog.DiscardHandler),
	}
	s := NewSchedule(cfg)
	if age, known := s.Age(); known {
		t.Errorf("before the first: %s", age)
	}
	ctx, stop := context.WithTimeout(t.Context(), testTimeout)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, p.source.Keys) }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for known := false; !known; {
		select {
		case <-look.C:
			_, known = s.Age()
		case <-ctx.Done():
			t.Fatal(s.State())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	first, _, err := Newest(folder)
	if err != nil || !strings.HasPrefix(s.State(), "ok: the newest is of 20") {
		t.Errorf("%v, %s", err, s.State())
	}
	// Another process finds it, and makes none before it is due.
	again := NewSchedule(cfg)
	if err := again.makeIfDue(t.Context(), p.source.Keys); err != nil {
		t.Error(err)
	}
	if set, _, err := Newest(folder); err != nil || set != first {
		t.Errorf("a second one is there: %s, %v", set, err)
	}
	cfg.Events = filepath.Join(folder, "nothing")
	cfg.BackupEvery = time.Nanosecond
	broken := NewSchedule(cfg)
	ctx, stop = context.WithTimeout(t.Context(), testTimeout)
	go func() { ended <- broken.Run(ctx, p.source.Keys) }()
	for !strings.HasPrefix(broken.State(), "degraded: no backup can be made: ") {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal(broken.State())
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
