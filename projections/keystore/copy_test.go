package keystore_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/keystore/keystoretest"
	"linkledger/projections/keystore/signedin"
)

// openCopied returns the keys of an empty database whose connections name a folder of a copy.
func openCopied(t *testing.T, folder string) *keystoretest.Database {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams[keystore.CopySetting] = folder
	pool, err := pgxpool.NewWithConfig(keystoretest.Context(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	db := &keystoretest.Database{Keys: keystore.New(pool), Pool: pool}
	db.Master = keystoretest.MasterKey(t, 1, nil)
	return db
}

// createCopied returns the keys of a database with a complete copy in a folder.
func createCopied(t *testing.T, folder string) *keystoretest.Database {
	t.Helper()
	db := openCopied(t, folder)
	if err := errors.Join(db.Create(keystoretest.Context(t)), db.CopyAll(keystoretest.Context(t))); err != nil {
		t.Fatal(err)
	}
	return db
}

// content returns all rows of the schema.
func content(t *testing.T, d *keystoretest.Database) map[string]string {
	t.Helper()
	content := make(map[string]string)
	for _, table := range tablesOf(t, d) {
		content[table] = keystoretest.Scan[string](t, d,
			"SELECT coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '') FROM linkledger_durable."+table+" AS t")
	}
	return content
}

func tablesOf(t *testing.T, d *keystoretest.Database) []string {
	t.Helper()
	return strings.Fields(keystoretest.Scan[string](t, d, `SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
		WHERE relnamespace = 'linkledger_durable'::regnamespace AND relkind = 'r'`))
}

func wantContent(t *testing.T, d *keystoretest.Database, want map[string]string) {
	t.Helper()
	got := content(t, d)
	for table, rows := range want {
		if got[table] != rows {
			t.Errorf("%s has\n%s\nwant\n%s", table, got[table], rows)
		}
	}
}

// restoreFrom returns the keys of a new database, restored from a folder.
func restoreFrom(t *testing.T, folder string) *keystoretest.Database {
	t.Helper()
	db := openCopied(t, folder)
	if _, done, err := db.Restore(keystoretest.Context(t)); !done || err != nil {
		t.Fatalf("restored: %t, %v", done, err)
	}
	return db
}

// TestCopyHasEveryAnsweredChange restores from the copy after each kind of change, as if the process
// had been killed right after its answer.
func TestCopyHasEveryAnsweredChange(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), filepath.Join(t.TempDir(), "keys")
	db := createCopied(t, folder)
	now := time.Now().Truncate(time.Microsecond)
	account, user, next := uuid.New(), uuid.New(), uuid.New()
	var session uuid.UUID
	var link string
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"secret", func() error { _, err := db.Secret(ctx, "visitor", 32); return err }},
		{"key", func() error { _, err := db.MakeAccountKey(ctx, account.String()); return err }},
		{"another key", func() error { _, err := db.MakeAccountKey(ctx, user.String()); return err }},
		{"session", func() (err error) {
			session, _, err = db.StartSession(ctx, signedin.Session{
				User: user, Account: account, Operator: true, Agent: "a \"browser\"\n", MemberAt: 1 << 60,
			}, now)
			return err
		}},
		{"further session", func() error {
			_, _, err := db.StartSession(ctx, signedin.Session{Account: account, Key: "k"}, now)
			return err
		}},
		{"moved session", func() error { return db.MoveSession(ctx, session, next, 7) }},
		{"end of the operator", func() error { return db.EndOperator(ctx, user) }},
		{"link", func() (err error) {
			link, err = db.AddSignInLink(ctx, signedin.Session{Account: account}, now, now.Add(time.Hour))
			return err
		}},
		{"used link", func() error { _, _, err := db.UseSignInLink(ctx, link, now); return err }},
		{"end of a session", func() error { return db.EndSession(ctx, session) }},
		{"end of sessions", func() error { return db.EndSessionsOf(ctx, user) }},
		{"erased key", func() error { return db.EraseAccountKey(ctx, account.String()) }},
		{"erased without a key", func() error { return db.EraseAccountKey(ctx, next.String()) }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		restored := restoreFrom(t, folder)
		want := content(t, db)
		wantContent(t, restored, want)
		if t.Failed() {
			t.Fatalf("after: %s", step.name)
		}
	}
	restored := restoreFrom(t, folder)
	if key, err := restored.MakeAccountKey(ctx, account.String()); key != nil || err != nil {
		t.Errorf("the erased account has the key %x, %v", key, err)
	}
	want, err := db.AccountKey(ctx, user.String())
	if err != nil {
		t.Fatal(err)
	}
	if key, err := restored.AccountKey(ctx, user.String()); !bytes.Equal(key, want) || err != nil {
		t.Errorf("the key is %x, %v, want %x", key, err, want)
	}
}

// TestCopyKnowsAllTables fails if a table of the schema is not in the copy.
func TestCopyKnowsAllTables(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db := createCopied(t, folder)
	for _, table := range tablesOf(t, db) {
		switch table {
		case "account_keys": // it has no file without a key
			continue
		case "adoption": // it says which database this is, so no other one may have it
			continue
		case "answers": // of forms, which nobody waits for after an hour
			continue
		case "effects", "receivers", "queues", "outbox": // they change with every event, and are in backups
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, table)); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

// TestCopyIsWrittenByAllAtOnce makes and erases keys from several processes at once.
func TestCopyIsWrittenByAllAtOnce(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	var all sync.WaitGroup
	shared := uuid.NewString()
	for i := range 8 {
		other := keystore.New(db.Pool)
		other.Master = keystoretest.MasterKey(t, 1, nil)
		all.Go(func() {
			for range 8 {
				own := uuid.NewString()[:34] + "7f" // one file
				_, err := other.MakeAccountKey(ctx, own)
				if _, again := other.MakeAccountKey(ctx, shared); err == nil {
					err = again
				}
				if err == nil && i%2 == 0 {
					err = other.EraseAccountKey(ctx, own)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	wantContent(t, restoreFrom(t, folder), content(t, db))
}

// TestCopyMergesKeys checks what happens if a process was killed between the copy and the commit, or
// if the database is older than its copy.
func TestCopyMergesKeys(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	lost, erased, kept := uuid.NewString(), uuid.NewString(), uuid.NewString()
	keys := make(map[string][]byte)
	for _, account := range []string{lost, erased, kept} {
		var err error
		if keys[account], err = db.MakeAccountKey(ctx, account); err != nil {
			t.Fatal(err)
		}
	}
	db.Exec(t, "CREATE TABLE before AS SELECT * FROM linkledger_durable.account_keys")
	if err := db.EraseAccountKey(ctx, erased); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Secret(ctx, "old", 32); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "TRUNCATE linkledger_durable.account_keys")
	db.Exec(t, "INSERT INTO linkledger_durable.account_keys SELECT * FROM before WHERE account_id <> $1", lost)
	db.Exec(t, "DELETE FROM linkledger_durable.secrets")
	for range 2 {
		if err := db.CopyAll(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []*keystoretest.Database{db, restoreFrom(t, folder)} {
		for _, account := range []string{lost, kept} {
			if key, err := of.AccountKey(ctx, account); !bytes.Equal(key, keys[account]) || err != nil {
				t.Errorf("the key is %x, %v, want %x", key, err, keys[account])
			}
		}
		if key, err := of.AccountKey(ctx, erased); key != nil || err != nil {
			t.Errorf("the erased key is %x, %v", key, err)
		}
		if n := keystoretest.Scan[int](t, of, "SELECT count(*) FROM linkledger_durable.secrets"); n != 0 {
			t.Error("a secret that was deleted is back")
		}
	}
}

// TestCopyFollows checks that changes of others are in the copy by themselves.
func TestCopyFollows(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db := createCopied(t, folder)
	account := uuid.NewString()
	if _, err := db.MakeAccountKey(keystoretest.Context(t), account); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- db.Follow(ctx, slog.New(slog.DiscardHandler)) }()
	db.Exec(t, keystore.EraseAccountKeyStatement, account) // as a projection does
	late := time.After(time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		key, err := restoreFrom(t, folder).AccountKey(keystoretest.Context(t), account)
		if err != nil {
			t.Fatal(err)
		}
		if key == nil {
			break
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the key is still in the copy")
		}
	}
	stop()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if err := keystoretest.Create(t).Follow(ctx, nil); err != nil {
		t.Errorf("without a copy: %v", err)
	}
}

// TestCopyIsSealed checks that the copy can be read with its master key only, and that nobody without
// it can change it.
func TestCopyIsSealed(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	master, other := keystoretest.MasterKey(t, 1, nil), keystoretest.MasterKey(t, 2, nil)
	if err := keyfile.OpenCopy(folder, master).Check(); !errors.Is(err, keyfile.ErrNoCopy) {
		t.Errorf("an empty folder: %v", err)
	}
	db := createCopied(t, folder)
	if _, _, err := db.StartSession(ctx, signedin.Session{Agent: "Netscape"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 || bytes.Contains(text, []byte("Netscape")) {
			t.Errorf("%s is open to others", e.Name())
		}
	}
	for name, test := range map[string]struct {
		master *keyfile.MasterKey
		want   error
	}{
		"its key":     {master, nil},
		"former key":  {keystoretest.MasterKey(t, 2, master), nil},
		"another key": {other, keyfile.ErrOtherMasterKey},
		"no key":      {nil, keyfile.ErrNoMasterKey},
	} {
		if err := keyfile.OpenCopy(folder, test.master).Check(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	swapped, err := os.ReadFile(filepath.Join(folder, "sign_in_links"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"swapped": swapped, "cut off": swapped[:20], "later form": []byte(`{"format":2}`),
		"other form": bytes.Replace(swapped, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1),
	} {
		if err := os.WriteFile(filepath.Join(folder, "sessions"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := keyfile.OpenCopy(folder, master).Check(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, done, err := openCopied(t, folder).Restore(ctx); done || err == nil {
			t.Errorf("%s: restored", name)
		}
	}
}

// TestDamagedCopyIsWrittenAnew checks that a service with a sound database starts.
func TestDamagedCopyIsWrittenAnew(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	account := uuid.NewString()
	if _, err := db.MakeAccountKey(ctx, account); err != nil {
		t.Fatal(err)
	}
	shard := filepath.Join(folder, "account_keys."+account[34:])
	if err := os.WriteFile(shard, []byte(`{"format":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.CopyAll(ctx); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("over the copy of a newer version: %v", err)
	}
	for _, name := range []string{shard, filepath.Join(folder, "sessions"), filepath.Join(folder, "complete")} {
		if err := os.WriteFile(name, []byte(`{"fo`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.CopyAll(ctx); err != nil {
		t.Fatal(err)
	}
	wantContent(t, restoreFrom(t, folder), content(t, db))
}

// TestCopyFails checks that a change is refused if the copy cannot be written, and not made.
func TestCopyFails(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	account := uuid.NewString()
	blocked := filepath.Join(folder, "account_keys."+account[34:]+".new")
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := db.MakeAccountKey(ctx, account); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("the key was made: %v", err)
	}
	if _, err := db.AccountKey(ctx, account); !errors.Is(err, keyfile.ErrKeyLost) {
		t.Errorf("the key is used without a copy: %v", err)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	if _, err := db.MakeAccountKey(ctx, account); err != nil {
		t.Error(err)
	}
}

// TestCopyOfAnEarlierVersion restores rows that lack a column of today.
func TestCopyOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	if _, err := db.MakeAccountKey(ctx, uuid.NewString()); err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "ALTER TABLE linkledger_durable.account_keys DROP COLUMN master")
	if err := db.CopyAll(ctx); err != nil {
		t.Fatal(err)
	}
	restored := restoreFrom(t, folder)
	if master := keystoretest.Scan[string](t, restored, "SELECT master FROM linkledger_durable.account_keys"); master != "" {
		t.Errorf("the column has %q, want its default", master)
	}
	db.Exec(t, "ALTER TABLE linkledger_durable.account_keys ADD COLUMN later int")
	if err := db.CopyAll(ctx); err != nil {
		t.Fatal(err)
	}
	if _, done, err := openCopied(t, folder).Restore(ctx); done || err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("the copy of a later version: %t, %v", done, err)
	}
	if tables := tablesOf(t, restored); !slices.Equal(tables, tablesOf(t, db)) {
		t.Errorf("got %s", tables)
	}
}

// TestCopyCompletesHalfASchema restores over what a load that has failed has left.
func TestCopyCompletesHalfASchema(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	account, erased := uuid.NewString(), uuid.NewString()
	for _, made := range []string{account, erased} {
		if _, err := db.MakeAccountKey(ctx, made); err != nil {
			t.Fatal(err)
		}
	}
	stale := content(t, db)["account_keys"]
	if _, err := db.Secret(ctx, "visitor", 32); err != nil {
		t.Fatal(err)
	}
	if err := db.EraseAccountKey(ctx, erased); err != nil {
		t.Fatal(err)
	}
	for name, half := range map[string][]string{
		"empty": {"CREATE SCHEMA linkledger_durable"},
		"tables": {
			"CREATE SCHEMA linkledger_durable",
			"CREATE TABLE linkledger_durable.secrets (name text PRIMARY KEY, value bytea NOT NULL)",
		},
		"stale": {
			"CREATE SCHEMA linkledger_durable",
			"CREATE TABLE linkledger_durable.account_keys " +
				"(account_id uuid PRIMARY KEY, wrapped bytea, master text NOT NULL)",
			"INSERT INTO linkledger_durable.account_keys SELECT (a).* FROM (SELECT unnest(string_to_array($1, E'\n'))" +
				"::linkledger_durable.account_keys AS a) AS s",
		},
	} {
		restored := openCopied(t, folder)
		for _, statement := range half {
			if strings.Contains(statement, "$1") {
				restored.Exec(t, statement, stale)
			} else {
				restored.Exec(t, statement)
			}
		}
		if exist, err := restored.Exist(ctx); exist || err != nil {
			t.Errorf("%s: it counts as complete: %t, %v", name, exist, err)
		}
		if err := restored.Update(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, done, err := restored.Restore(ctx); !done || err != nil {
			t.Errorf("%s: restored: %t, %v", name, done, err)
			continue
		}
		wantContent(t, restored, content(t, db))
	}
}

// TestCopyMissesItsFiles removes each file of a copy. None is restored without it.
func TestCopyMissesItsFiles(t *testing.T) {
	t.Parallel()
	ctx, folder := keystoretest.Context(t), t.TempDir()
	db := createCopied(t, folder)
	for range 3 {
		if _, err := db.MakeAccountKey(ctx, uuid.NewString()); err != nil {
			t.Fatal(err)
		}
	}
	copied := keyfile.OpenCopy(folder, keystoretest.MasterKey(t, 1, nil))
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	for _, e := range entries {
		if e.Name() == "shards" { // a copy of an earlier version has no list
			continue
		}
		path, aside := filepath.Join(folder, e.Name()), filepath.Join(t.TempDir(), "aside")
		if err := os.Rename(path, aside); err != nil {
			t.Fatal(err)
		}
		if err := copied.Check(); err == nil {
			t.Errorf("the copy is whole without %s", e.Name())
		}
		if err := os.Rename(aside, path); err != nil {
			t.Fatal(err)
		}
		removed++
	}
	if err := copied.Check(); err != nil || removed < 9 {
		t.Errorf("%d files, %v", removed, err)
	}
}
