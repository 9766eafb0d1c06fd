package queries

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/readmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

func withPatience(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// openDatabase returns a database with the empty tables of all projections.
func openDatabase(t testing.TB) *readmodel.DB {
	t.Helper()
	ctx := withPatience(t)
	db, err := readmodel.Open(ctx, postgrestest.NewDatabase(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := db.Locked(ctx, db.Migrate); err != nil {
		t.Fatal(err)
	}
	for _, projection := range []string{"links", "tags", "accounts", "dimensions", "tree", "history"} {
		err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := readmodel.CreateTables(ctx, tx, projection, 1); err != nil {
				return err
			}
			return readmodel.Serve(ctx, tx, projection, 0, 1)
		})
		if err != nil {
			t.Fatal(err)
		}
		insert(t, db, &readmodel.Generation{Name: projection, Generation: 1, Serving: true, UpdatedAt: noon})
	}
	return db
}

// insert writes rows through the views.
func insert(t testing.TB, db *readmodel.DB, rows ...any) {
	t.Helper()
	for _, row := range rows {
		insert := db.NewInsert().Model(row)
		if _, ok := row.(*readmodel.LinkStats); ok { // which each link has
			insert = insert.On("CONFLICT (url_id) DO UPDATE").Set("total_clicks = EXCLUDED.total_clicks, unique_clicks = EXCLUDED.unique_clicks, last_visit = EXCLUDED.last_visit, visited = EXCLUDED.visited")
		}
		if _, err := insert.Exec(withPatience(t)); err != nil {
			t.Fatalf("insert %+v: %v", row, err)
		}
	}
	derive(t, db)
}

// derive brings what follows from links and counters up to date.
func derive(t testing.TB, db *readmodel.DB) {
	t.Helper()
	err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE links_g1.link_stats SET account_id = NULL, number = NULL") // they may be wrong
		if err != nil {
			return err
		}
		if err := readmodel.Derive(ctx, tx, "links", "links_g1"); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO links_g1.link_texts AS t (account_id, number, text)
			SELECT account_id, number, convert_to(lower(long_url || E'\n' || note || E'\n' || hash COLLATE "default"), 'UTF8')
			FROM links_g1.links WHERE deleted_at IS NULL
			ON CONFLICT (account_id, number) DO UPDATE SET text = EXCLUDED.text`)
		return err
	})
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
}

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// world is an account with two tags, a deleted tag and links; beside it another account with a link of its own.
type world struct {
	q              *DB
	db             *readmodel.DB
	account, other uuid.UUID
	full           readmodel.Link // with everything
	bare           readmodel.Link // with nothing
	deleted        readmodel.Link
	foreign        readmodel.Link
	news, old      readmodel.Tag
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db := openDatabase(t)
	w := &world{q: New(db), db: db, account: uuid.New(), other: uuid.New()}
	gone := uuid.New()
	w.news = readmodel.Tag{ID: uuid.New(), AccountID: w.account, Label: "News", CreatedAt: noon, Position: 11}
	w.old = readmodel.Tag{ID: uuid.New(), AccountID: w.account, Label: "Old", CreatedAt: noon, Position: 10}
	foreignTag := readmodel.Tag{ID: uuid.New(), AccountID: w.other, Label: "Foreign", CreatedAt: noon, Position: 9}
	date := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	w.full = readmodel.Link{
		ID: uuid.New(), AccountID: w.account, Number: 20, Hash: "full", LongURL: "https://example.com/?a='b'", Note: `n"o\te`,
		EmailStats: true, Ping: true, Protected: true, Archived: true, ExpirationDate: &date, MaxClicks: 9,
		TagIDs:    []uuid.UUID{w.news.ID, gone, w.old.ID, foreignTag.ID},
		CreatedAt: noon, ModifiedAt: noon.Add(time.Hour), Position: 20, Revision: 4,
	}
	w.bare = readmodel.Link{
		ID: uuid.New(), AccountID: w.account, Number: 21, Hash: "bare", LongURL: "https://example.com/", TagIDs: []uuid.UUID{},
		CreatedAt: noon, ModifiedAt: noon, Position: 21,
	}
	w.deleted = w.bare
	w.deleted.ID, w.deleted.Hash, w.deleted.Number, w.deleted.Position, w.deleted.DeletedAt = uuid.New(), "gone", 22, 22, noon
	w.foreign = w.bare
	w.foreign.ID, w.foreign.AccountID, w.foreign.Hash, w.foreign.Position = uuid.New(), w.other, "foreign", 23
	insert(
		t, db, &w.news, &w.old, &foreignTag, &w.full, &w.bare, &w.deleted, &w.foreign,
		&readmodel.LinkStats{URLID: w.full.ID, TotalClicks: 5, UniqueClicks: 2, LastVisit: noon, Visited: true},
		&readmodel.LinkDay{URLID: w.full.ID, Day: noon, TotalClicks: 2, UniqueClicks: 0},
		&readmodel.LinkDay{URLID: w.full.ID, Day: noon.AddDate(0, 0, -1), TotalClicks: 3, UniqueClicks: 2},
		&readmodel.Account{ID: w.account, Username: "demo", Plan: "free", KeyID: "k1", KeyHash: "abc", Active: true, CreatedAt: noon},
		&readmodel.Account{ID: w.other, Username: "Demo", Plan: "free", KeyID: "k2", KeyHash: "def", CreatedAt: noon},
	)
	if _, err := db.NewRaw("INSERT INTO linkledger.link_tallies (account_id, created, restorations, deletions) VALUES (?, 3, 1, 2)",
		w.account).Exec(withPatience(t)); err != nil {
		t.Fatalf("tallies: %v", err)
	}
	return w
}
