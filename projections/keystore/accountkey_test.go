package keystore_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/keystore/keystoretest"
)

func TestAccountKeyIsMadeOnceAndErasedForEver(t *testing.T) {
	t.Parallel()
	stored, account := keystoretest.Create(t), uuid.NewString()
	ctx := keystoretest.Context(t)
	if _, err := stored.MakeAccountKey(ctx, account); !errors.Is(err, keyfile.ErrNoMasterKey) {
		t.Errorf("without a master key: %v", err)
	}
	stored.Master = keystoretest.MasterKey(t, 1, nil)
	if _, err := stored.AccountKey(ctx, account); !errors.Is(err, keyfile.ErrKeyLost) {
		t.Errorf("a key that was never created: %v", err)
	}
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = stored.MakeAccountKey(ctx, account); err != nil {
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
	if other, err := stored.MakeAccountKey(ctx, uuid.NewString()); err != nil || bytes.Equal(other, keys[0]) {
		t.Errorf("another account has the key %x, %v", other, err)
	}
	if n := keystoretest.Scan[int](t, stored, "SELECT count(*) FROM linkledger_durable.account_keys WHERE position($1::bytea IN wrapped) > 0", keys[0]); n != 0 {
		t.Error("the key is stored unwrapped")
	}
	for range 2 {
		if err := stored.EraseAccountKey(ctx, account); err != nil {
			t.Fatal(err)
		}
		if key, err := stored.MakeAccountKey(ctx, account); key != nil || err != nil {
			t.Errorf("after the erasure: %x, %v", key, err)
		}
	}
	never := uuid.NewString()
	if err := stored.EraseAccountKey(ctx, never); err != nil {
		t.Fatal(err)
	}
	if key, err := stored.MakeAccountKey(ctx, never); key != nil || err != nil {
		t.Errorf("an account that never had a key: %x, %v", key, err)
	}
}

func TestMasterKeyRotates(t *testing.T) {
	t.Parallel()
	stored, ctx := keystoretest.Create(t), keystoretest.Context(t)
	if err := stored.CheckMaster(ctx); err != nil {
		t.Errorf("no key at all: %v", err)
	}
	old, gone := keystoretest.MasterKey(t, 1, nil), uuid.NewString()
	stored.Master = old
	keys := make(map[string][]byte)
	for range 3 {
		account := uuid.NewString()
		var err error
		if keys[account], err = stored.MakeAccountKey(ctx, account); err != nil {
			t.Fatal(err)
		}
	}
	if err := stored.EraseAccountKey(ctx, gone); err != nil {
		t.Fatal(err)
	}
	check := func(key *keyfile.MasterKey, want error) {
		t.Helper()
		stored.Master = key
		if err := stored.CheckMaster(ctx); !errors.Is(err, want) {
			t.Errorf("the check returned %v, want %v", err, want)
		}
	}
	check(old, nil)
	check(nil, keyfile.ErrNoMasterKey)
	check(keystoretest.MasterKey(t, 2, nil), keyfile.ErrOtherMasterKey)
	for account := range keys {
		if _, err := stored.AccountKey(ctx, account); !errors.Is(err, keyfile.ErrOtherMasterKey) {
			t.Errorf("with another master key: %v", err)
		}
	}
	check(keystoretest.MasterKey(t, 2, old), nil)
	check(keystoretest.MasterKey(t, 2, nil), nil)
	for account, want := range keys {
		if key, err := stored.AccountKey(ctx, account); err != nil || !bytes.Equal(key, want) {
			t.Errorf("after the rotation: %x, %v, want %x", key, err, want)
		}
	}
	check(old, keyfile.ErrOtherMasterKey)
	if key, err := stored.AccountKey(ctx, gone); key != nil || err != nil {
		t.Errorf("an erased account has the key %x, %v", key, err)
	}
}
