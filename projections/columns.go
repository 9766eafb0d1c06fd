package projections

import (
	"encoding/hex"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/schema"
)

// The types below are columns of a set-based statement: each appends itself as one PostgreSQL array literal. bun's own
// arrays go through reflection for every element, which a rebuild feels.

const timeLayout = "2006-01-02 15:04:05.999999-07:00"

type uuidColumn []uuid.UUID

var _ schema.QueryAppender = uuidColumn(nil)

// AppendQuery implements schema.QueryAppender.
func (c uuidColumn) AppendQuery(_ schema.QueryGen, b []byte) ([]byte, error) {
	return append(appendUUIDs(append(b, '\''), c), '\''), nil
}

func appendUUIDs(b []byte, ids []uuid.UUID) []byte {
	b = append(b, '{')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = hex.AppendEncode(b, id[:])
	}
	return append(b, '}')
}

// uuidsColumn holds an array in each row. PostgreSQL's arrays are rectangular, so it goes as text[], whose elements the
// statement casts to uuid[].
type uuidsColumn [][]uuid.UUID

var _ schema.QueryAppender = uuidsColumn(nil)

// AppendQuery implements schema.QueryAppender.
func (c uuidsColumn) AppendQuery(_ schema.QueryGen, b []byte) ([]byte, error) {
	b = append(b, "'{"...)
	for i, ids := range c {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendUUIDs(append(b, '"'), ids), '"')
	}
	return append(b, "}'"...), nil
}

// timeColumn writes the zero time as NULL.
type timeColumn []time.Time

var _ schema.QueryAppender = timeColumn(nil)

// AppendQuery implements schema.QueryAppender.
func (c timeColumn) AppendQuery(_ schema.QueryGen, b []byte) ([]byte, error) {
	b = append(b, "'{"...)
	for i, t := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if t.IsZero() {
			b = append(b, "NULL"...)
		} else {
			b = appendTime(b, t, timeLayout)
		}
	}
	return append(b, "}'"...), nil
}

// dateColumn writes nil as NULL.
type dateColumn []*time.Time

var _ schema.QueryAppender = dateColumn(nil)

// AppendQuery implements schema.QueryAppender.
func (c dateColumn) AppendQuery(_ schema.QueryGen, b []byte) ([]byte, error) {
	b = append(b, "'{"...)
	for i, t := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if t == nil {
			b = append(b, "NULL"...)
		} else {
			b = appendTime(b, *t, time.DateOnly)
		}
	}
	return append(b, "}'"...), nil
}

func appendTime(b []byte, t time.Time, layout string) []byte {
	return append(t.UTC().AppendFormat(append(b, '"'), layout), '"')
}

type boolColumn []bool

var _ schema.QueryAppender = boolColumn(nil)

// AppendQuery implements schema.QueryAppender.
func (c boolColumn) AppendQuery(_ schema.QueryGen, b []byte) ([]byte, error) {
	b = append(b, "'{"...)
	for i, v := range c {
		if i > 0 {
			b = append(b, ',')
		}
		if v {
			b = append(b, 't')
		} else {
			b = append(b, 'f')
		}
	}
	return append(b, "}'"...), nil
}
