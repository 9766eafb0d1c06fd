package queries

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/uuid"

	"linkledger/queries/queriestest"
)

func TestBatchLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch, other := uuid.New(), uuid.New()
	for _, link := range []uuid.UUID{w.Full.ID, w.Deleted.ID, w.Foreign.ID} {
		if _, err := w.DB.NewRaw("INSERT INTO linkledger.link_batches VALUES (?, ?)", batch, link).Exec(
			queriestest.WithTimeout(t),
		); err != nil {
			t.Fatal(err)
		}
	}
	read := func(account, batch uuid.UUID) []uuid.UUID {
		t.Helper()
		var all []uuid.UUID
		for after := uuid.Nil; ; after = all[len(all)-1] {
			ids, err := w.q.BatchLinks(queriestest.WithTimeout(t), account, batch, after, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(ids) == 0 {
				return all
			}
			all = append(all, ids...)
		}
	}
	byID := func(ids ...uuid.UUID) []uuid.UUID {
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		return ids
	}
	if got, want := read(w.Account, batch), byID(w.Full.ID, w.Deleted.ID); !slices.Equal(got, want) {
		t.Errorf("links of the account: %v, want %v", got, want)
	}
	if got, want := read(uuid.Nil, batch), byID(w.Full.ID, w.Deleted.ID, w.Foreign.ID); !slices.Equal(got, want) {
		t.Errorf("links of all accounts: %v, want %v", got, want)
	}
	if got := read(w.Account, other); got != nil {
		t.Errorf("links of another batch: %v", got)
	}
}
