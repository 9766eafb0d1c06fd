package linklist

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/queriestest"
	"linkledger/tagexpr"
)

// copyGeneration creates the second generation of a projection as a copy of the first.
func copyGeneration(ctx context.Context, tx bun.Tx, projection string) error {
	if err := readmodel.CreateTables(ctx, tx, projection, 2); err != nil {
		return err
	}
	var copies []string
	if err := tx.NewRaw(`SELECT format('INSERT INTO %I.%I SELECT * FROM %I.%2$I', ?0, tablename, schemaname) FROM pg_tables WHERE schemaname = ?1`,
		readmodel.GenerationSchema(projection, 2),
		readmodel.GenerationSchema(projection, 1)).Scan(ctx, &copies); err != nil {
		return err
	}
	for _, statement := range copies {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// TestReadersNoticeNoSwitch switches generations repeatedly while queries run. No query may fail or
// return another result.
func TestReadersNoticeNoSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	projections := []string{"links", "tags", "accounts", "dimensions", "history"}
	for _, projection := range projections {
		err := w.DB.RunInTx(
			queriestest.WithTimeout(t), nil,
			func(ctx context.Context, tx bun.Tx) error { return copyGeneration(ctx, tx, projection) },
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	news, err := tagexpr.Parse("+News&visited")
	if err != nil {
		t.Fatal(err)
	}
	reads := map[string]func(context.Context) (any, error){
		"list": func(ctx context.Context) (any, error) {
			return w.lists.Links(ctx, Query{Owner: Owner{Account: w.Account}, Tags: news, Order: ClicksFirst, Limit: 9})
		},
		"search": func(ctx context.Context) (any, error) {
			return w.lists.Links(ctx, Query{Owner: Owner{Account: w.Account}, Search: "example", Limit: 9})
		},
		"past list": func(ctx context.Context) (any, error) {
			return w.lists.Links(
				ctx, Query{Owner: Owner{Account: w.Account}, At: queriestest.Noon, Search: "example", Order: ByHash, Limit: 9},
			)
		},
		"link": func(ctx context.Context) (any, error) { return w.q.LinkByHash(ctx, w.Account, w.Full.Hash) },
		"past link": func(ctx context.Context) (any, error) {
			return w.q.LinkAt(ctx, w.Account, w.Full.Hash, queriestest.Noon)
		},
		"links": func(ctx context.Context) (any, error) {
			return w.q.LinksByID(ctx, []uuid.UUID{w.Full.ID, w.Bare.ID})
		},
		"batch": func(ctx context.Context) (any, error) {
			return w.q.BatchLinks(ctx, w.Account, uuid.New(), uuid.Nil, 9)
		},
		"stats":    func(ctx context.Context) (any, error) { return w.q.StatsByHash(ctx, w.Account, w.Full.Hash) },
		"tags":     func(ctx context.Context) (any, error) { return w.q.Tags(ctx, w.Account) },
		"redirect": func(ctx context.Context) (any, error) { return w.q.Redirect(ctx, w.Full.Hash) },
		"counters": func(ctx context.Context) (any, error) {
			return w.q.AccountCounters(ctx, w.Account, queriestest.Noon)
		},
		"past account": func(ctx context.Context) (any, error) {
			account, _, err := w.q.AccountAt(ctx, w.Account, queriestest.Noon)
			return account, err
		},
		"dimensions": func(ctx context.Context) (any, error) {
			return w.q.Dimensions(ctx, queries.DimensionsOf{Account: w.Account, Hash: w.Full.Hash, Limit: 9})
		},
	}
	resultOf := func(read func(context.Context) (any, error)) string {
		result, err := read(queriestest.WithTimeout(t))
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal(result)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for name, read := range reads {
		want := resultOf(read)
		readers.Go(func() {
			for ctx.Err() == nil {
				if got := resultOf(read); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
					return
				}
			}
		})
	}
	gaveWay := 0
	for i := range 50 {
		for _, projection := range projections {
			switched := func(ctx context.Context, tx bun.Tx) error {
				return readmodel.Serve(ctx, tx, projection, 1+i%2, 2-i%2)
			}
			for {
				err := w.DB.RunInTx(queriestest.WithTimeout(t), nil, switched)
				if err == nil {
					break
				}
				if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "57014" {
					t.Fatal(err)
				}
				gaveWay++
			}
		}
	}
	t.Logf("%d switches were cancelled in favour of readers", gaveWay)
}
