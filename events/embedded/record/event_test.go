package record

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// FuzzDecodeRecord checks that Decode returns an event that can be encoded again, or an error, for
// any stored bytes. It adds the right checksum, because otherwise the checksum would reject nearly
// all inputs.
func FuzzDecodeRecord(f *testing.F) {
	whole := (&Event{
		Number: TombstoneNumber, Created: 1, JSON: true, Stream: "url-1", Type: "k", Metadata: []byte("m"),
		Data: []byte("{}"),
	}).Encode()
	f.Add(whole[:len(whole)-recordChecksum])
	f.Add(whole[:recordFixed+1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(1, binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli)))
		if err != nil {
			return
		}
		again, err := Decode(1, r.Encode())
		if err != nil || again.Number != r.Number || again.Created != r.Created || again.Stream != r.Stream ||
			!bytes.Equal(again.Data, r.Data) {
			t.Errorf("%+v reads back as %+v, %v", r, again, err)
		}
		ParseLimits(r)
		if marked := WithTruncateBefore(r.Data, 7); marked != nil {
			if l := ParseLimits(&Event{JSON: true, Data: marked}); l != (Limits{}) && l.truncateBefore != 7 {
				t.Errorf("%s has the limits %+v", marked, l)
			}
		}
	})
}
