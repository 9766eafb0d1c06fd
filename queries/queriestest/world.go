// Package queriestest provides a read model with a few rows to the tests of packages that read it.
package queriestest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/readmodel"
)

// WithTimeout returns a context that bounds how long a test waits.
func WithTimeout(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Run calls run in a goroutine. When the test ends, it ends run's context and waits until run has
// returned.
func Run(t testing.TB, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// EqualJSON checks that values have the same JSON, in which pointers and time zones do not matter.
func EqualJSON(t testing.TB, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if string(g) != string(w) {
		t.Errorf("got\n%s, want\n%s", g, w)
	}
}

// OpenDatabase returns a database with the empty tables of all projections.
func OpenDatabase(t testing.TB) *readmodel.DB {
	t.Helper()
	db, err := readmodel.Open(WithTimeout(t), prepared.NewDatabase(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

var prepared = postgrestest.NewTemplate(func(ctx context.Context, dsn string) error {
	db, err := readmodel.Open(ctx, dsn, 1)
	if err != nil {
		return err
	}
	return errors.Join(db.Locked(ctx, db.Migrate), createTables(ctx, db), db.Close())
})

func createTables(ctx context.Context, db *readmodel.DB) error {
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, projection := range []string{
			"links", "tags", "accounts", "dimensions", "tree", "history",
		} {
			if err := readmodel.CreateTables(ctx, tx, projection, 1); err != nil {
				return err
			}
			if err := readmodel.Serve(ctx, tx, projection, 0, 1); err != nil {
				return err
			}
			_, err := tx.NewInsert().Model(&readmodel.Generation{
				Name: projection, Generation: 1, Serving: true, UpdatedAt: Noon,
			}).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Insert writes rows through the views.
func Insert(t testing.TB, db *readmodel.DB, rows ...any) {
	t.Helper()
	for _, row := range rows {
		insert := db.NewInsert().Model(row)
		if _, ok := row.(*readmodel.LinkStats); ok { // each link already has a row
			insert = insert.On("CONFLICT (url_id) DO UPDATE").Set(
				"total_clicks = EXCLUDED.total_clicks, unique_clicks = EXCLUDED.unique_clicks, " +
					"last_visit = EXCLUDED.last_visit, visited = EXCLUDED.visited",
			)
		}
		if _, err := insert.Exec(WithTimeout(t)); err != nil {
			t.Fatalf("insert %+v: %v", row, err)
		}
	}
	Derive(t, db)
}

// Derive updates the tables that are computed from links and counters.
func Derive(t testing.TB, db *readmodel.DB) {
	t.Helper()
	err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		// The rows may have outdated values.
		_, err := tx.ExecContext(
			ctx, "UPDATE links_g1.link_stats SET account_id = NULL, number = NULL",
		)
		if err != nil {
			return err
		}
		if err := readmodel.Derive(ctx, tx, "links", "links_g1"); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO links_g1.link_texts AS t (account_id, number, text)
			SELECT account_id, number, convert_to(
				lower(long_url || E'\n' || note || E'\n' || hash COLLATE "default"), 'UTF8')
			FROM links_g1.links WHERE deleted_at IS NULL
			ON CONFLICT (account_id, number) DO UPDATE SET text = EXCLUDED.text`)
		return err
	})
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
}

// Noon is the time at which the rows of a World were created.
var Noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// World is an account with two tags, a deleted tag and links, and another account with its own
// link.
type World struct {
	DB             *readmodel.DB
	Account, Other uuid.UUID
	Full           readmodel.Link // with all settings
	Bare           readmodel.Link // without settings
	Deleted        readmodel.Link
	Foreign        readmodel.Link
	News, Old      readmodel.Tag
}

// NewWorld returns a World in a new database.
func NewWorld(t testing.TB) *World {
	t.Helper()
	db := OpenDatabase(t)
	w := &World{DB: db, Account: uuid.New(), Other: uuid.New()}
	gone := uuid.New()
	w.News = readmodel.Tag{
		ID: uuid.New(), AccountID: w.Account, Label: "News", CreatedAt: Noon, Position: 11,
	}
	w.Old = readmodel.Tag{
		ID: uuid.New(), AccountID: w.Account, Label: "Old", CreatedAt: Noon, Position: 10,
	}
	foreignTag := readmodel.Tag{
		ID: uuid.New(), AccountID: w.Other, Label: "Foreign", CreatedAt: Noon, Position: 9,
	}
	date := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	w.Full = readmodel.Link{
		ID: uuid.New(), AccountID: w.Account, Number: 20, Hash: "full",
		LongURL: "https://example.com/?a='b'", Note: `n"o\te`,
		EmailStats: true, Ping: true, Protected: true, Archived: true, ExpirationDate: &date,
		MaxClicks: 9,
		TagIDs:    []uuid.UUID{w.News.ID, gone, w.Old.ID, foreignTag.ID},
		CreatedAt: Noon, ModifiedAt: Noon.Add(time.Hour), Position: 20, Revision: 4,
	}
	w.Bare = readmodel.Link{
		ID: uuid.New(), AccountID: w.Account, Number: 21, Hash: "bare",
		LongURL: "https://example.com/", TagIDs: []uuid.UUID{},
		CreatedAt: Noon, ModifiedAt: Noon, Position: 21,
	}
	w.Deleted = w.Bare
	w.Deleted.ID, w.Deleted.Hash, w.Deleted.Number = uuid.New(), "gone", 22
	w.Deleted.Position, w.Deleted.DeletedAt = 22, Noon
	w.Foreign = w.Bare
	w.Foreign.ID, w.Foreign.AccountID = uuid.New(), w.Other
	w.Foreign.Hash, w.Foreign.Position = "foreign", 23
	Insert(
		t, db, &w.News, &w.Old, &foreignTag, &w.Full, &w.Bare, &w.Deleted, &w.Foreign,
		&readmodel.LinkStats{
			URLID: w.Full.ID, TotalClicks: 5, UniqueClicks: 2, LastVisit: Noon, Visited: true,
		},
		&readmodel.LinkDay{URLID: w.Full.ID, Day: Noon, TotalClicks: 2, UniqueClicks: 0},
		&readmodel.LinkDay{
			URLID: w.Full.ID, Day: Noon.AddDate(0, 0, -1), TotalClicks: 3, UniqueClicks: 2,
		},
		&readmodel.Account{
			ID: w.Account, Username: "demo", Plan: "free", Active: true, CreatedAt: Noon,
			Changed: 5,
		},
		&readmodel.Account{ID: w.Other, Username: "Demo", Plan: "free", CreatedAt: Noon},
		&readmodel.AccountKey{AccountID: w.Account, ID: "k1", Hash: "abc", CreatedAt: Noon},
		&readmodel.AccountKey{
			AccountID: w.Account, ID: "k2", Hash: "def", Name: "second", Scopes: "links:read keys",
			Networks: "192.0.2.0/24 ::/0", Tags: "+news", ExpirationDate: &Noon, CreatedAt: Noon,
		},
		&readmodel.AccountKey{
			AccountID: w.Account, ID: "k3", Hash: "ghi", CreatedAt: Noon, RevokedAt: Noon,
		},
	)
	if _, err := db.NewRaw(`INSERT INTO linkledger.link_tallies
		(account_id, created, restorations, deletions) VALUES (?, 3, 1, 2)`, w.Account).
		Exec(WithTimeout(t)); err != nil {
		t.Fatalf("insert the counts of links: %v", err)
	}
	return w
}

// Commit moves a checkpoint as a projector of another process does. If notify is set, it also sends
// the notification.
func Commit(t *testing.T, db *readmodel.DB, projection string, position uint64, notify bool) {
	t.Helper()
	statement := "UPDATE linkledger.generations SET commit_pos = ?0 WHERE name = ?1"
	if notify {
		statement += "; SELECT pg_notify(?2, ?3)"
	}
	if _, err := db.NewRaw(
		statement, position, projection, readmodel.Channel, fmt.Sprint(projection, " ", position),
	).
		Exec(WithTimeout(t)); err != nil {
		t.Fatal(err)
	}
}
