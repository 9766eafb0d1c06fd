package keystore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/keystore/keystoretest"
	"linkledger/projections/keystore/signedin"
)

// TestExport copies the tables to a backup and loads them into another database, where they are the
// same. What names events of the log is copied before the log is, and what the log needs after it.
func TestExport(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), filepath.Join(t.TempDir(), "keys")
	db := keystoretest.Open(t)
	db.Master = keystoretest.MasterKey(t, 1, nil)
	if err := db.Create(ctx); err != nil {
		t.Fatal(err)
	}
	before, after := uuid.NewString(), uuid.NewString()
	if _, err := db.MakeAccountKey(ctx, before); err != nil {
		t.Fatal(err)
	}
	session := func() {
		if _, _, err := db.StartSession(ctx, signedin.Session{Account: uuid.New(), Key: "k"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	session()
	export := keyfile.NewExport(folder, db.Master)
	var sessions string
	if err := db.Export(ctx, export, func() error {
		sessions = content(t, db)["sessions"]
		session()
		_, err := db.MakeAccountKey(ctx, after)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := export.SetSigningKey(`"signs"`); err != nil {
		t.Fatal(err)
	}
	if key, err := export.SigningKey(); key != `"signs"` || err != nil {
		t.Errorf("the signing key is %s, %v", key, err)
	}
	loaded := keystoretest.Open(t)
	loaded.Master = db.Master
	if empty, err := loaded.IsEmpty(ctx); !empty || err != nil {
		t.Errorf("an empty database: %t, %v", empty, err)
	}
	restored, err := loaded.Load(ctx, keyfile.OpenExport(folder, db.Master))
	if err != nil || restored.Keys != 2 || restored.Sessions != 1 {
		t.Errorf("%+v, %v", restored, err)
	}
	want := content(t, db)
	want["sessions"] = sessions
	wantContent(t, loaded, want)
	if empty, err := loaded.IsEmpty(ctx); empty || err != nil {
		t.Errorf("a full database: %t, %v", empty, err)
	}
	// As dev keeps it, under another master key for the files.
	other := keystoretest.MasterKey(t, 2, db.Master)
	kept := keyfile.OpenCopy(filepath.Join(t.TempDir(), "kept"), other)
	if _, err := export.CopyTo(kept); err != nil {
		t.Error(err)
	}
	if err := kept.Check(); err != nil {
		t.Error(err)
	}
}
