package record_test

import (
	"errors"
	"math"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/record"
)

// TestCounters checks that counters are read as they were stored, and that other values are corrupt.
func TestCounters(t *testing.T) {
	t.Parallel()
	usual := record.Counters{Events: 7, Streams: 3}
	for name, tc := range map[string]struct {
		stored []byte
		want   record.Counters
		err    error
	}{
		"usual":     {usual.Encode(), usual, nil},
		"zero":      {record.Counters{}.Encode(), record.Counters{}, nil},
		"largest":   {record.Counters{Events: math.MaxUint64}.Encode(), record.Counters{Events: math.MaxUint64}, nil},
		"empty":     {[]byte{}, record.Counters{}, record.ErrCorrupt},
		"cut":       {usual.Encode()[:15], record.Counters{}, record.ErrCorrupt},
		"too long":  {append(usual.Encode(), 0), record.Counters{}, record.ErrCorrupt},
		"no counts": {nil, record.Counters{}, pebble.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			if tc.stored != nil {
				if err := db.Set(record.CountersKey, tc.stored, pebble.NoSync); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := record.LoadCounters(db); got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("the counters are %+v, %v; want %+v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}
