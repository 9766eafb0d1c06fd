package sqlbatch

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// row is a row with a column of each type.
type row struct {
	id     uuid.UUID
	text   string
	flag   bool
	number int
	total  int64
	at     time.Time
	day    *time.Time
	ids    []uuid.UUID
}

func (v *row) own(r *Row) {
	r.UUID(v.id)
	r.Text(v.text)
	r.Bool(v.flag)
	r.Integer(v.number)
	r.Bigint(v.total)
	r.Timestamptz(v.at)
	r.Date(v.day)
	r.UUIDs(v.ids)
}

// library encodes the row with the types of pgx.
func (v *row) library(m *pgtype.Map, into []byte) ([]byte, error) {
	var at any
	if !v.at.IsZero() {
		at = v.at
	}
	for _, value := range []struct {
		oid uint32
		of  any
	}{
		{pgtype.UUIDOID, v.id},
		{pgtype.TextOID, v.text},
		{pgtype.BoolOID, v.flag},
		{pgtype.Int4OID, v.number},
		{pgtype.Int8OID, v.total},
		{pgtype.TimestamptzOID, at},
		{pgtype.DateOID, v.day},
		{pgtype.UUIDArrayOID, v.ids},
	} {
		size := len(into)
		into = binary.BigEndian.AppendUint32(into, 0xffffffff)
		after, err := m.Encode(value.oid, pgtype.BinaryFormatCode, value.of, into)
		if err != nil {
			return nil, err
		}
		if after != nil { // nil: NULL
			binary.BigEndian.PutUint32(after[size:], uint32(len(after)-size-4))
			into = after
		}
	}
	return into, nil
}

func encodeAlike(t *rapid.T) {
	ids := rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) uuid.UUID { return uuid.UUID(b) })
	v := row{
		id: ids.Draw(t, "id"), text: rapid.String().Draw(t, "text"), flag: rapid.Bool().Draw(t, "flag"),
		number: int(rapid.Int32().Draw(t, "number")), total: rapid.Int64().Draw(t, "total"),
		ids: rapid.SliceOfN(ids, 0, 3).Draw(t, "ids"),
	}
	if rapid.Bool().Draw(t, "timed") {
		v.at = time.UnixMicro(rapid.Int64Range(-1<<55, 1<<55).Draw(t, "at")).UTC()
	}
	if rapid.Bool().Draw(t, "dated") {
		day := time.Unix(24*60*60*rapid.Int64Range(-1<<19, 1<<20).Draw(t, "day"), 0).UTC()
		v.day = &day
	}
	if v.ids == nil {
		v.ids = []uuid.UUID{}
	}
	var got Row
	v.own(&got)
	if want, err := v.library(pgtype.NewMap(), nil); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%+v is encoded as\n%x, want\n%x, %v", v, got, want, err)
	}
}

// TestRowsAreEncodedAsPgxDoes checks that Row encodes values as the types of pgx do.
func TestRowsAreEncodedAsPgxDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, encodeAlike)
}

// FuzzRow is TestRowsAreEncodedAsPgxDoes with rows that the fuzzer chooses.
func FuzzRow(f *testing.F) { f.Fuzz(rapid.MakeFuzz(encodeAlike)) }

// BenchmarkRow compares Row with the types of pgx.
func BenchmarkRow(b *testing.B) {
	v := row{id: uuid.Max, text: "https://example.com/articles/1?utm_source=newsletter", at: time.Now(), ids: []uuid.UUID{uuid.Max}}
	m, buf := pgtype.NewMap(), []byte(nil)
	for name, encode := range map[string]func(){
		"own":     func() { r := Row(buf[:0]); v.own(&r); buf = r },
		"library": func() { buf, _ = v.library(m, buf[:0]) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				encode()
			}
		})
	}
}
