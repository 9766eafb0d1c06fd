package queries

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"linkledger/projections/readmodel"
	"linkledger/queries/queriestest"
)

func TestDimensions(t *testing.T) {
	t.Parallel()
	w, ctx := newWorld(t), queriestest.WithTimeout(t)
	for day, rows := range map[time.Time]map[string]int64{
		queriestest.Noon: {
			"referrer a": 1, "referrer b": 5, "referrer c": 5, "referrer other": 9, "os Linux": 3,
		},
		queriestest.Noon.AddDate(0, 0, -1): {"referrer a": 2, "os Windows": 1},
		queriestest.Noon.AddDate(0, 0, -2): {"referrer a": 4, "referrer d": 1},
	} {
		for row, clicks := range rows {
			dimension, value, _ := strings.Cut(row, " ")
			queriestest.Insert(
				t, w.DB,
				&readmodel.ClickDimension{
					URLID: w.Full.ID, Day: day, Dimension: dimension, Value: value, Clicks: clicks,
				},
			)
		}
	}
	queriestest.Insert(
		t, w.DB,
		&readmodel.ClickDimension{URLID: w.Bare.ID, Day: queriestest.Noon, Dimension: "os", Value: "iOS", Clicks: 1},
	)
	yesterday := queriestest.Noon.AddDate(0, 0, -1)
	for name, test := range map[string]struct {
		of   DimensionsOf
		want string
	}{
		"all": {
			DimensionsOf{Limit: 9},
			"[{os Linux 3} {os Windows 1} {referrer a 7} {referrer b 5} {referrer c 5} {referrer d 1} {referrer other " +
				"9}]",
		},
		"the first": {
			DimensionsOf{Limit: 2}, "[{os Linux 3} {os Windows 1} {referrer a 7} {referrer b 5} {referrer other 15}]",
		},
		"since yesterday": {
			DimensionsOf{From: yesterday, Limit: 9},
			"[{os Linux 3} {os Windows 1} {referrer b 5} {referrer c 5} {referrer a 3} {referrer other 9}]",
		},
		"until yesterday": {DimensionsOf{To: yesterday, Limit: 9}, "[{os Windows 1} {referrer a 6} {referrer d 1}]"},
		"yesterday":       {DimensionsOf{From: yesterday, To: yesterday, Limit: 9}, "[{os Windows 1} {referrer a 2}]"},
		"never":           {DimensionsOf{From: queriestest.Noon, To: yesterday, Limit: 9}, "[]"},
	} {
		test.of.Account, test.of.Hash = w.Account, "full"
		if got, err := w.q.Dimensions(ctx, test.of); err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, test.want)
		}
	}
	for _, hash := range []string{"gone", "foreign", "nothing", "\x00"} {
		if _, err := w.q.Dimensions(
			ctx, DimensionsOf{Account: w.Account, Hash: hash, Limit: 1},
		); !errors.Is(err, ErrNotFound) {
			t.Errorf("of %q: %v", hash, err)
		}
	}
}
