package spool

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"
)

// FuzzReadRecord checks that reading a segment with any content ends with its end or with damage, and that the records
// read are the records written.
func FuzzReadRecord(f *testing.F) {
	whole := append(
		record{at: time.Unix(1, 2), items: 3, body: []byte("one")}.encode(), record{body: []byte{}}.encode()...,
	)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, end := bytes.NewReader(data), int64(0)
		for {
			r, err := currentLayout.read(file, end)
			if errors.Is(err, io.EOF) && end == int64(len(data)) || errors.Is(err, errDamaged) {
				return
			}
			if err != nil {
				t.Fatalf("at %d of %d: %v", end, len(data), err)
			}
			if !bytes.Equal(r.encode(), data[end:end+currentLayout.size(r)]) {
				t.Fatalf("at %d is %+v, which was not written", end, r)
			}
			end += currentLayout.size(r)
		}
	})
}
