package sqlbatch

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// copyRows are rows for a table, or for a temporary staging table with the same columns.
type copyRows struct {
	table   string
	staged  bool
	columns []string
	n       int
	row     func(r *Row, i int)
}

// send copies the rows in PostgreSQL's binary format. CopyFrom of pgx does the same, but takes many
// times as long to encode a row (docs/decisions/codecs.md).
func (c copyRows) send(ctx context.Context, conn *pgx.Conn, schema string) error {
	into := pgx.Identifier{schema, c.table}.Sanitize()
	if c.staged {
		like := into
		into = pgx.Identifier{"pg_temp", stagedPrefix + c.table}.Sanitize()
		if _, err := conn.Exec(
			ctx, "CREATE TEMPORARY TABLE "+into+" (LIKE "+like+") ON COMMIT DROP",
		); err != nil {
			return err
		}
	}
	statement := fmt.Sprintf(
		"COPY %s (%s) FROM STDIN (FORMAT binary)", into, strings.Join(c.columns, ", "),
	)
	_, err := conn.PgConn().CopyFrom(ctx, &copyReader{copyRows: c, buf: Row(copyHeader)}, statement)
	return err
}

const (
	stagedPrefix = "staged_"
	// copyHeader is the signature, no flags, and no extension.
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	copyTrailer = "\xff\xff"
)

// copyReader encodes the rows of a COPY while it is read.
type copyReader struct {
	copyRows

	next int // next row to encode
	buf  Row // encoded, not yet read
}

// Read implements io.Reader.
func (r *copyReader) Read(p []byte) (int, error) {
	for len(r.buf) < len(p) && r.next < r.n {
		r.buf = binary.BigEndian.AppendUint16(r.buf, uint16(len(r.columns))) //nolint:gosec // a few
		r.row(&r.buf, r.next)
		if r.next++; r.next == r.n {
			r.buf = append(r.buf, copyTrailer...)
		}
	}
	if len(r.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.buf)
	r.buf = r.buf[:copy(r.buf, r.buf[n:])]
	return n, nil
}

// Row encodes the values of rows, each as its length and PostgreSQL's binary form.
type Row []byte

func (r *Row) size(n int) {
	//nolint:gosec // PostgreSQL's values are below a gigabyte
	*r = binary.BigEndian.AppendUint32(*r, uint32(n))
}

func (r *Row) null() { r.size(-1) }

// UUID adds an id.
func (r *Row) UUID(id uuid.UUID) {
	r.size(len(id))
	*r = append(*r, id[:]...)
}

// Text adds a text.
func (r *Row) Text(s string) {
	r.size(len(s))
	*r = append(*r, s...)
}

// Bool adds a boolean.
func (r *Row) Bool(b bool) {
	r.size(1)
	if b {
		*r = append(*r, 1)
	} else {
		*r = append(*r, 0)
	}
}

// Integer adds an integer of 4 bytes.
func (r *Row) Integer(n int) {
	r.size(4)
	r.size(n)
}

// Bigint adds an integer of 8 bytes.
func (r *Row) Bigint(n int64) {
	r.size(8)
	//nolint:gosec // two's complement on both sides
	*r = binary.BigEndian.AppendUint64(*r, uint64(n))
}

// y2k is the day from which PostgreSQL counts days and microseconds.
var y2k = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Timestamptz adds a time. The zero time is NULL.
func (r *Row) Timestamptz(at time.Time) {
	if at.IsZero() {
		r.null()
		return
	}
	r.Bigint(at.UnixMicro() - y2k.UnixMicro())
}

// Date adds a date. nil is NULL.
func (r *Row) Date(midnight *time.Time) {
	if midnight == nil {
		r.null()
		return
	}
	r.Integer(int((midnight.Unix() - y2k.Unix()) / (24 * 60 * 60)))
}

// UUIDs adds an array of ids.
func (r *Row) UUIDs(ids []uuid.UUID) {
	const header = 20 // of an array of one dimension
	r.size(header + len(ids)*(4+len(uuid.UUID{})))
	// one dimension, no NULLs, type, length, counted from 1
	for _, n := range [header / 4]int{1, 0, pgtype.UUIDOID, len(ids), 1} {
		r.size(n)
	}
	for _, id := range ids {
		r.UUID(id)
	}
}
