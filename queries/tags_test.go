package queries_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/queries"
	"linkledger/queries/asof"
	"linkledger/queries/queriestest"
)

// TestTagsAt renames and deletes a tag. It checks which labels an account had at which time.
func TestTagsAt(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	renamed, kept := uuid.New(), uuid.New()
	for _, version := range []struct {
		tag, account uuid.UUID
		hours        int
		label        *string
	}{
		{renamed, w.Account, 1, new("first")},
		{renamed, w.Account, 3, new("second")},
		{renamed, w.Account, 5, nil},
		{kept, w.Account, 2, new("kept")},
		{uuid.New(), w.Other, 1, new("foreign")},
	} {
		if _, err := w.DB.NewRaw(
			"INSERT INTO linkledger.tag_versions (tag_id, since, account_id, label) VALUES (?, ?, ?, ?)",
			version.tag, hour(version.hours).UnixNano(), version.account, version.label,
		).Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		at   time.Time
		want map[uuid.UUID]string
	}{
		"before all":   {hour(0), nil},
		"created":      {hour(1), map[uuid.UUID]string{renamed: "first"}},
		"another one":  {hour(2), map[uuid.UUID]string{renamed: "first", kept: "kept"}},
		"renamed":      {hour(4), map[uuid.UUID]string{renamed: "second", kept: "kept"}},
		"deleted":      {hour(5), map[uuid.UUID]string{kept: "kept"}},
		"now, in view": {time.Time{}, map[uuid.UUID]string{w.News.ID: "News", w.Old.ID: "Old"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tags, err := queries.New(w.DB).TagsAt(ctx, w.Account, asof.At(tc.at))
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[uuid.UUID]string)
			for _, tag := range tags {
				got[tag.ID] = tag.Label
			}
			if len(tags) != len(tc.want) || len(got) != len(tc.want) {
				t.Errorf("the tags are %v, want %v", tags, tc.want)
			}
			for id, label := range tc.want {
				if got[id] != label {
					t.Errorf("the label of %s is %q, want %q", id, got[id], label)
				}
			}
		})
	}
}

// hour returns the time some hours after the links of a World were created.
func hour(n int) time.Time { return queriestest.Noon.Add(time.Duration(n) * time.Hour) }
