package history_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/logtest"
)

// TestFold draws histories and delivers them in all ways. TestPast compares the rows.
func TestFold(t *testing.T) {
	t.Parallel()
	w := foldtest.New(t, projections.History)
	rapid.Check(t, func(t *rapid.T) { w.FoldInAllWays(t, logtest.Draw(t).Log, func(context.Context) {}) })
}
