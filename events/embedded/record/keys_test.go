package record_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"linkledger/events/embedded/record"
)

// TestKeysOnDisk checks that the keys are those of every store that an earlier program has written.
func TestKeysOnDisk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		key  []byte
		want string
	}{
		"counters":               {record.CountersKey, "00" + "636f756e7473"},
		"event":                  {record.EventKey(0x1234), "01" + "0000000000001234"},
		"index":                  {record.IndexKey("url-1", 7), "02" + "05" + "75726c2d31" + "0000000000000007"},
		"tombstone":              {record.IndexKey("s", record.TombstoneNumber), "02" + "0173" + "7fffffffffffffff"},
		"end of the index":       {record.IndexEnd("s", 7), "02" + "01" + "73" + "0000000000000007" + "00"},
		"state":                  {record.StateKey("url-1"), "03" + "75726c2d31"},
		"state without a stream": {record.StateKey(""), "03"},
		"state of metadata":      {record.StateKey("$$s"), "03" + "242473"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hex.EncodeToString(tc.key); got != tc.want {
				t.Errorf("the key is %s, want %s", got, tc.want)
			}
		})
	}
}

// TestIndexOfOneStream checks that the range of the index from a number to IndexEnd has the entries of one stream, in
// order of their numbers, and neither those of streams with similar names nor other values.
func TestIndexOfOneStream(t *testing.T) {
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
	numbers := []int64{0, 1, 255, 256, math.MaxInt32, record.TombstoneNumber}
	keys := [][]byte{record.CountersKey, record.EventKey(1), record.EventKey(math.MaxUint64)}
	for _, stream := range []string{"", "a", "ab", "abc", "b", "\xff", "$$ab"} {
		keys = append(keys, record.StateKey(stream))
		for _, number := range numbers {
			keys = append(keys, record.IndexKey(stream, number))
		}
	}
	for _, key := range keys {
		if err := db.Set(key, nil, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct{ low, high int64 }{
		"all":           {0, record.TombstoneNumber},
		"one":           {255, 255},
		"some":          {1, 256},
		"the tombstone": {record.TombstoneNumber, record.TombstoneNumber},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			iter, err := db.NewIter(&pebble.IterOptions{
				LowerBound: record.IndexKey("ab", tc.low), UpperBound: record.IndexEnd("ab", tc.high),
			})
			if err != nil {
				t.Fatal(err)
			}
			var got [][]byte
			for iter.First(); iter.Valid(); iter.Next() {
				got = append(got, bytes.Clone(iter.Key()))
			}
			if err := iter.Close(); err != nil {
				t.Fatal(err)
			}
			var want [][]byte
			for _, number := range numbers {
				if tc.low <= number && number <= tc.high {
					want = append(want, record.IndexKey("ab", number))
				}
			}
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("the range has %x, want %x", got, want)
			}
		})
	}
}
