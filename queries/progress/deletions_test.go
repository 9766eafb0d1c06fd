package progress_test

import (
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/readmodel"
	"linkledger/queries/progress"
	"linkledger/queries/queriestest"
)

// TestDeletionsThatAreSetAside sets deletions of links aside. It checks that only those count as applied whose link the
// read models show as deleted.
func TestDeletionsThatAreSetAside(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	deletion, change := events.URLDeleted{}.EventType(), events.URLUntagged{}.EventType()
	id, _ := events.LinkOfHash("ofhash")
	ofHash := w.Deleted
	ofHash.ID, ofHash.Hash, ofHash.Number, ofHash.Position = uuid.MustParse(id), "ofhash", 30, 30
	queriestest.Insert(t, w.DB, &ofHash)
	letters := map[string]struct {
		stream, kind string
		applied      bool
	}{
		"link that is shown as deleted":     {events.LinkStream(w.Deleted.ID.String()), deletion, true},
		"link in the stream of its hash":    {events.LinkStream(id), deletion, true},
		"link that is not shown as deleted": {events.LinkStream(w.Bare.ID.String()), deletion, false},
		"link that is not shown":            {events.LinkStream(uuid.NewString()), deletion, false},
		"no link":                           {events.StreamURL + "no id", deletion, false},
		"other change of a deleted link":    {events.LinkStream(w.Deleted.ID.String()), change, false},
		"another stream":                    {events.StreamTags + w.Account.String(), deletion, false},
	}
	positions := make(map[string]uint64)
	var all []uint64
	for name, letter := range letters {
		position := uint64(100 + len(all))
		all, positions[name] = append(all, position), position
		queriestest.Insert(t, w.DB, &readmodel.DeadLetter{
			Name: "links", Generation: 1, CommitPos: int64(position), EventID: uuid.New(), Stream: letter.stream,
			Type: letter.kind, RecordedAt: queriestest.Noon, Data: []byte{},
		})
	}
	lacking, err := progress.NewWaiter(w.DB).SetAside(ctx, "links", all...)
	if err != nil {
		t.Fatal(err)
	}
	for name, letter := range letters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, lacks := lacking[positions[name]]; lacks == letter.applied {
				t.Errorf("the event counts as applied: %t, want %t", !lacks, letter.applied)
			}
		})
	}
}
