package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func FuzzOrigin(f *testing.F) {
	for _, metadata := range []string{
		`{}`, `{"a":1}`, `{ }`, `{"a":{"b":2}}`, `{"$copied":{}}`, `[]`, ``, `{"a":1} `, `}}`, `"$copied":{}}`,
	} {
		f.Add([]byte(metadata), int64(1), uint64(2), uint64(3))
	}
	f.Fuzz(func(t *testing.T, metadata []byte, nanoseconds int64, commit, prepare uint64) {
		from := origin{Time: time.Unix(0, nanoseconds).UTC(), Commit: commit, Prepare: prepare}
		before := bytes.Clone(metadata)
		added, err := withOrigin(metadata, from)
		if !bytes.Equal(metadata, before) {
			t.Fatalf("%q became %q", before, metadata)
		}
		if err != nil {
			if !errors.Is(err, ErrForeign) {
				t.Fatal(err)
			}
			_, _, _ = cutOrigin(metadata)
			return
		}
		cut, found, copied := cutOrigin(added)
		if !copied || found != from || !bytes.Equal(cut, metadata) || !json.Valid(added) {
			t.Fatalf("%q became %q and then %q, %+v, %t", metadata, added, cut, found, copied)
		}
	})
}
