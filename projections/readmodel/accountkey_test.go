package readmodel_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/readmodel"
)

func newMasterKey(t *testing.T, filler byte, former *readmodel.MasterKey) *readmodel.MasterKey {
	t.Helper()
	key, err := readmodel.NewMasterKey(bytes.Repeat([]byte{filler}, readmodel.MasterKeySize), former)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAccountKeyIsMadeOnceAndErasedForEver(t *testing.T) {
	t.Parallel()
	db, account := migrated(t), uuid.NewString()
	ctx := withTimeout(t)
	if _, err := db.MakeAccountKey(ctx, account); !errors.Is(err, readmodel.ErrNoMasterKey) {
		t.Errorf("without a master key: %v", err)
	}
	db.MasterKey = newMasterKey(t, 1, nil)
	if _, err := db.AccountKey(ctx, account); !errors.Is(err, readmodel.ErrKeyLost) {
		t.Errorf("a key that was never created: %v", err)
	}
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = db.MakeAccountKey(ctx, account); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("key %x, want %x", key, keys[0])
		}
	}
	if other, err := db.MakeAccountKey(ctx, uuid.NewString()); err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("another account has the key %x, %v", other, err)
	}
	if n := scan[int](
		t, db, "SELECT count(*) FROM linkledger.account_keys WHERE position(?::bytea IN wrapped) > 0", keys[0],
	); n != 0 {
		t.Error("the key is stored unwrapped")
	}
	for range 2 {
		if err := db.EraseAccountKey(ctx, account); err != nil {
			t.Fatal(err)
		}
		if key, err := db.MakeAccountKey(ctx, account); key != nil || err != nil {
			t.Errorf("after the erasure: %x, %v", key, err)
		}
	}
	never := uuid.NewString()
	if err := db.EraseAccountKey(ctx, never); err != nil {
		t.Fatal(err)
	}
	if key, err := db.MakeAccountKey(ctx, never); key != nil || err != nil {
		t.Errorf("an account that never had a key: %x, %v", key, err)
	}
}

func TestMasterKeyRotates(t *testing.T) {
	t.Parallel()
	db, ctx := migrated(t), withTimeout(t)
	if err := db.CheckMasterKey(ctx); err != nil {
		t.Errorf("no key at all: %v", err)
	}
	old, gone := newMasterKey(t, 1, nil), uuid.NewString()
	db.MasterKey = old
	keys := make(map[string][]byte)
	for range 3 {
		account := uuid.NewString()
		var err error
		if keys[account], err = db.MakeAccountKey(ctx, account); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.EraseAccountKey(ctx, gone); err != nil {
		t.Fatal(err)
	}
	check := func(key *readmodel.MasterKey, want error) {
		t.Helper()
		db.MasterKey = key
		if err := db.CheckMasterKey(ctx); !errors.Is(err, want) {
			t.Errorf("the check returned %v, want %v", err, want)
		}
	}
	check(old, nil)
	check(nil, readmodel.ErrNoMasterKey)
	check(newMasterKey(t, 2, nil), readmodel.ErrOtherMasterKey)
	for account := range keys {
		if _, err := db.AccountKey(ctx, account); !errors.Is(err, readmodel.ErrOtherMasterKey) {
			t.Errorf("with another master key: %v", err)
		}
	}
	check(newMasterKey(t, 2, old), nil)
	check(newMasterKey(t, 2, nil), nil)
	for account, want := range keys {
		if key, err := db.AccountKey(ctx, account); err != nil || !bytes.Equal(key, want) {
			t.Errorf("after the rotation: %x, %v, want %x", key, err, want)
		}
	}
	check(old, readmodel.ErrOtherMasterKey)
	if key, err := db.AccountKey(ctx, gone); key != nil || err != nil {
		t.Errorf("an erased account has the key %x, %v", key, err)
	}
}
