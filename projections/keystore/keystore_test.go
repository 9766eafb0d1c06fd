package keystore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keystoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// TestMissingSchema checks that nothing creates keys by the way if their schema is missing.
func TestMissingSchema(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Open(t)
	keys.Master = keystoretest.MasterKey(t, 1, nil)
	if err := keys.Update(ctx); err != nil {
		t.Errorf("Update: %v", err)
	}
	if exist, err := keys.Exist(ctx); exist || err != nil {
		t.Errorf("after Update Exist returned %t, %v; want false", exist, err)
	}
	account := uuid.NewString()
	for name, use := range map[string]func() error{
		"Secret":          func() error { _, err := keys.Secret(ctx, "visitor", 32); return err },
		"StoredSecret":    func() error { _, err := keys.StoredSecret(ctx, "visitor", 32); return err },
		"AccountKey":      func() error { _, err := keys.AccountKey(ctx, account); return err },
		"MakeAccountKey":  func() error { _, err := keys.MakeAccountKey(ctx, account); return err },
		"EraseAccountKey": func() error { return keys.EraseAccountKey(ctx, account) },
		"CheckMaster":     func() error { return keys.CheckMaster(ctx) },
	} {
		if err := use(); !errors.Is(err, keystore.ErrMissing) {
			t.Errorf("%s: got %v, want ErrMissing", name, err)
		}
	}
}

// TestKeysOfAnEarlierVersion checks that keys in the schema linkledger move, and that a process of
// the earlier version goes on using them there.
func TestKeysOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Open(t)
	keys.Master = keystoretest.MasterKey(t, 1, nil)
	keys.Exec(t, `CREATE SCHEMA linkledger;
		CREATE TABLE linkledger.secrets (name text PRIMARY KEY, value bytea NOT NULL);
		CREATE TABLE linkledger.account_keys (
			account_id uuid PRIMARY KEY, wrapped bytea, master text NOT NULL DEFAULT '');
		INSERT INTO linkledger.secrets VALUES ('visitor', decode(repeat('ab', 32), 'hex'))`)
	for range 2 {
		if err := keys.Update(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if secret, err := keys.StoredSecret(ctx, "visitor", 32); err != nil || secret[0] != 0xab {
		t.Errorf("the secret is %x, %v", secret, err)
	}

	// The statements of version 0.1.
	account := uuid.NewString()
	if _, err := keys.MakeAccountKey(ctx, account); err != nil {
		t.Fatal(err)
	}
	keys.Exec(t, "INSERT INTO linkledger.secrets (name, value) VALUES ('other', '\\x00') ON CONFLICT DO NOTHING")
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.secrets"); n != 2 {
		t.Errorf("there are %d secrets, want 2", n)
	}
	keys.Exec(t, "SELECT FROM linkledger.account_keys WHERE master <> '' FOR UPDATE")
	keys.Exec(t, `INSERT INTO linkledger.account_keys AS k (account_id) VALUES ($1)
		ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = '' WHERE k.wrapped IS NOT NULL`, account)
	if key, err := keys.AccountKey(ctx, account); key != nil || err != nil {
		t.Errorf("after an erasure by the earlier version the key is %x, %v; want none", key, err)
	}
}

// TestTablesOfTheFormerSchema checks that the tables of the schema linkledger_keys move, and that a
// process of the earlier version goes on using them there.
func TestTablesOfTheFormerSchema(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	if _, err := keys.Secret(ctx, "visitor", 32); err != nil {
		t.Fatal(err)
	}
	keys.Exec(t, "ALTER SCHEMA linkledger_durable RENAME TO linkledger_keys")
	for range 2 {
		if err := keys.Update(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if exist, err := keys.Exist(ctx); !exist || err != nil {
		t.Errorf("the moved tables exist: %t, %v", exist, err)
	}

	// The statements of the earlier version, of each kind.
	account, user := uuid.NewString(), uuid.NewString()
	keys.Exec(t, "INSERT INTO linkledger_keys.secrets (name, value) VALUES ('visitor', '\\x00') ON CONFLICT DO NOTHING")
	keys.Exec(t, "INSERT INTO linkledger_keys.account_keys (account_id, wrapped, master) VALUES ($1, '\\x01', '')",
		account)
	keys.Exec(t, `INSERT INTO linkledger_keys.account_keys AS k (account_id) VALUES ($1)
		ON CONFLICT (account_id) DO UPDATE SET wrapped = NULL, master = '' WHERE k.wrapped IS NOT NULL`, account)
	keys.Exec(t, "SELECT FROM linkledger_keys.account_keys WHERE account_id = $1 FOR NO KEY UPDATE", account)
	keys.Exec(t, `INSERT INTO linkledger_keys.sessions (hash, id, user_id, key_id, member_at, operator, address,
			agent, created_at, used_at)
		VALUES ('\x01', $1, $1, '', 0, false, '', '', now(), now())`, user)
	keys.Exec(t, "UPDATE linkledger_keys.sessions SET used_at = now() WHERE id = $1", user)
	keys.Exec(t, `INSERT INTO linkledger_keys.adoption AS had (token, former, timeline) VALUES ('a', '', 1)
		ON CONFLICT (single) DO UPDATE SET token = had.token RETURNING token`)
	keys.Exec(t, "DELETE FROM linkledger_keys.sign_in_links WHERE expires_at <= now()")
	if n := keystoretest.Scan[int](t, keys, `SELECT count(*) FROM linkledger_durable.sessions AS s
		JOIN linkledger_durable.account_keys AS k ON k.wrapped IS NULL
		JOIN linkledger_durable.adoption ON token = 'a'`); n != 1 {
		t.Errorf("the present tables have %d of the rows of the earlier version, want 1", n)
	}
	if n := keystoretest.Scan[int](t, keys, "SELECT count(*) FROM linkledger_durable.secrets"); n != 1 {
		t.Errorf("there are %d secrets, want 1", n)
	}
}

// TestUpdateLocksNoTable checks that a node starts while another one holds tables in a transaction: each write locks
// its tables in a mode that the creation of an index waits for.
func TestUpdateLocksNoTable(t *testing.T) {
	t.Parallel()
	ctx, keys := keystoretest.Context(t), keystoretest.Create(t)
	tx, err := keys.Pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	for _, table := range strings.Fields(keystoretest.Scan[string](t, keys, `SELECT string_agg(relname, ' ') FROM pg_class
		WHERE relnamespace = 'linkledger_durable'::regnamespace AND relkind = 'r'`)) {
		if _, err := tx.Exec(ctx, "LOCK TABLE linkledger_durable."+table+" IN ROW EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
	}
	impatient := keystore.New(keystoretest.WithSetting(t, keys, "lock_timeout", "1s"))
	if err := impatient.Update(ctx); err != nil {
		t.Errorf("a start waits for a writer: %v", err)
	}
}
