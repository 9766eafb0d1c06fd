package generation_test

import (
	"errors"
	"fmt"
	"testing"

	"linkledger/projections"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projectionstest"
	"linkledger/robots"
)

// TestBuildsByOtherWords checks that a build goes on with its words only, and that all projections
// that judge clicks are begun or none.
func TestBuildsByOtherWords(t *testing.T) {
	t.Parallel()
	ctx, db := projectionstest.Context(t), projectionstest.Open(t)
	words, err := robots.Parse("[robots]\nacmewatch\n")
	if err != nil {
		t.Fatal(err)
	}
	others, err := robots.Parse("[robots]\nacme-watch\n")
	if err != nil {
		t.Fatal(err)
	}
	first, err := generation.CreateJudged(ctx, db, projections.Judging(), "", words)
	if err != nil || len(first) != len(projections.Judging()) {
		t.Fatalf("%v, %v", first, err)
	}
	again, err := generation.CreateJudged(ctx, db, projections.Judging(), "", words)
	if err != nil || fmt.Sprint(*again[0].Judgement, again[0].Generation) != fmt.Sprint(*first[0].Judgement, 2) {
		t.Errorf("the same words: %v, %v", again, err)
	}
	if _, err := generation.CreateJudged(
		ctx, db, projections.Judging(), "", others,
	); !errors.Is(err, generation.ErrOtherWords) {
		t.Errorf("other words: %v", err)
	}
	if _, err := projections.Prune(ctx, db, projections.Links); err != nil {
		t.Fatal(err)
	}
	if _, err := generation.CreateJudged(
		ctx, db, projections.Judging(), "", others,
	); !errors.Is(err, generation.ErrOtherWords) {
		t.Errorf("other words for one: %v", err)
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger.generations WHERE name = ?", projections.Links); n != 1 {
		t.Errorf("%d generations of links", n)
	}
	if n := projectionstest.Count(t, db, "SELECT count(*) FROM linkledger_durable.judgements"); n != 1 {
		t.Errorf("%d judgements", n)
	}
}
