package accounts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"pgregory.net/rapid"

	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
	"linkledger/projections/readmodel"
)

// TestFold draws histories, delivers them in all ways, and compares accounts and people with the expected ones.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.Accounts)
	rapid.Check(t, func(t *rapid.T) {
		h := logtest.Draw(t)
		w.FoldInAllWays(t, h.Log, func(ctx context.Context) {
			checkAccounts(ctx, h, w.Rows())
			checkPeople(ctx, h, w.Rows())
		})
	})
}

func checkAccounts(ctx context.Context, h *logtest.History, db *bun.DB) {
	for _, want := range h.Accounts {
		var row readmodel.Account
		err := db.NewSelect().Model(&row).ModelTableExpr("?schema.accounts AS account").Where("id = ?", want.ID).Scan(
			ctx,
		)
		if err != nil {
			h.T.Fatalf("account: %v", err)
		}
		got := fmt.Sprint(row.Username, row.Plan, row.Active)
		if expected := fmt.Sprint("user"+want.ID.String(), want.Plan, want.Active); got != expected {
			h.T.Fatalf("account %s, want %s", got, expected)
		}
		checkKeys(ctx, h, db, want)
		checkMembers(ctx, h, db, want)
		expires := ""
		if row.ExpirationDate != nil {
			expires = row.ExpirationDate.Format(time.DateOnly)
		}
		if expires != want.Expires {
			h.T.Fatalf("account expires on %q, want %q", expires, want.Expires)
		}
	}
}

func checkKeys(ctx context.Context, h *logtest.History, db *bun.DB, account *logtest.Account) {
	var rows []readmodel.AccountKey
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.api_keys AS account_key").
		Where("account_id = ?", account.ID).Scan(ctx); err != nil {
		h.T.Fatalf("keys: %v", err)
	}
	if len(rows) != len(account.Keys) {
		h.T.Fatalf("%d keys, want %d", len(rows), len(account.Keys))
	}
	for _, row := range rows {
		want, expires := account.Keys[row.ID], ""
		if row.ExpirationDate != nil {
			expires = row.ExpirationDate.Format(time.DateOnly)
		}
		got := fmt.Sprint(row.Hash, row.Name, row.Scopes, row.Tags, row.Networks, expires, !row.RevokedAt.IsZero())
		if expected := fmt.Sprint(want.Hash, want.Terms.Name, strings.Join(want.Terms.Scopes, " "), want.Terms.Tags,
			strings.Join(want.Terms.Networks, " "), want.Terms.Expires, want.Ended); got != expected {
			h.T.Fatalf("key %s, want %s", got, expected)
		}
	}
}

func checkMembers(ctx context.Context, h *logtest.History, db *bun.DB, account *logtest.Account) {
	var rows []readmodel.AccountMember
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.account_members AS member").
		Where("account_id = ?", account.ID).Scan(ctx); err != nil {
		h.T.Fatalf("members: %v", err)
	}
	if len(rows) != len(account.Members) {
		h.T.Fatalf("%d members, want %d", len(rows), len(account.Members))
	}
	for _, row := range rows {
		got := logtest.Member{Role: row.Role, Group: row.Group, Changed: row.Changed, Ended: !row.RemovedAt.IsZero()}
		if want := account.Members[row.UserID]; want == nil || got != *want {
			h.T.Fatalf("member %+v, want %+v", got, want)
		}
	}
}

func checkPeople(ctx context.Context, h *logtest.History, db *bun.DB) {
	var rows []readmodel.Person
	if err := db.NewSelect().Model(&rows).ModelTableExpr("?schema.people AS person").Scan(ctx); err != nil {
		h.T.Fatalf("people: %v", err)
	}
	if len(rows) != len(h.People) {
		h.T.Fatalf("%d people, want %d", len(rows), len(h.People))
	}
	for _, row := range rows {
		i := slices.IndexFunc(h.People, func(p *logtest.Person) bool { return p.ID == row.ID })
		if want := *h.People[i]; row.Box != want.Box || row.Erased != want.Erased {
			h.T.Fatalf("person %+v, want %+v", row, want)
		}
	}
}
