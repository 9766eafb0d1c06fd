package queries

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"linkledger/projections/readmodel"
)

func TestDimensions(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), withPatience(t)
	for day, rows := range map[time.Time]map[string]int64{
		noon:                   {"referrer a": 1, "referrer b": 5, "referrer c": 5, "referrer other": 9, "os Linux": 3},
		noon.AddDate(0, 0, -1): {"referrer a": 2, "os Windows": 1},
		noon.AddDate(0, 0, -2): {"referrer a": 4, "referrer d": 1},
	} {
		for row, clicks := range rows {
			dimension, value, _ := strings.Cut(row, " ")
			insert(t, w.db, &readmodel.ClickDimension{URLID: w.full.ID, Day: day, Dimension: dimension, Value: value, Clicks: clicks})
		}
	}
	insert(t, w.db, &readmodel.ClickDimension{URLID: w.bare.ID, Day: noon, Dimension: "os", Value: "iOS", Clicks: 1})
	yesterday := noon.AddDate(0, 0, -1)
	for name, test := range map[string]struct {
		of   DimensionsOf
		want string
	}{
		"all":             {DimensionsOf{Limit: 9}, "[{os Linux 3} {os Windows 1} {referrer a 7} {referrer b 5} {referrer c 5} {referrer d 1} {referrer other 9}]"},
		"the first":       {DimensionsOf{Limit: 2}, "[{os Linux 3} {os Windows 1} {referrer a 7} {referrer b 5} {referrer other 15}]"},
		"since yesterday": {DimensionsOf{From: yesterday, Limit: 9}, "[{os Linux 3} {os Windows 1} {referrer b 5} {referrer c 5} {referrer a 3} {referrer other 9}]"},
		"until yesterday": {DimensionsOf{To: yesterday, Limit: 9}, "[{os Windows 1} {referrer a 6} {referrer d 1}]"},
		"yesterday":       {DimensionsOf{From: yesterday, To: yesterday, Limit: 9}, "[{os Windows 1} {referrer a 2}]"},
		"never":           {DimensionsOf{From: noon, To: yesterday, Limit: 9}, "[]"},
	} {
		test.of.Account, test.of.Hash = w.account, "full"
		if got, err := w.q.Dimensions(ctx, test.of); err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, test.want)
		}
	}
	for _, hash := range []string{"gone", "foreign", "nothing", "\x00"} {
		if _, err := w.q.Dimensions(ctx, DimensionsOf{Account: w.account, Hash: hash, Limit: 1}); !errors.Is(err, ErrNotFound) {
			t.Errorf("of %q: %v", hash, err)
		}
	}
}
