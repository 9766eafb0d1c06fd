package sqlbatch

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Batch collects statements that are sent in one round trip, and rows that are copied before them.
type Batch struct {
	schema string // of the tables
	batch  pgx.Batch
	copies []copyRows
}

// New returns an empty batch for the tables of a schema.
func New(schema string) *Batch { return &Batch{schema: schema} }

// Begin queues the start of a transaction.
func (s *Batch) Begin() { s.batch.BeginTx(pgx.TxOptions{}) }

// Commit queues the commit of the transaction.
func (s *Batch) Commit() { s.batch.Queue("COMMIT") }

// Len returns how many statements are queued.
func (s *Batch) Len() int { return s.batch.Len() }

// Copy adds n new rows of a table. Send calls row for each of them.
func (s *Batch) Copy(table string, columns []string, n int, row func(r *Row, i int)) {
	if n > 0 {
		s.copies = append(s.copies, copyRows{table, false, columns, n, row})
	}
}

// Stage copies n rows into the table pg_temp.staged_<table>, for the statements of the batch. The
// table ends with the transaction.
func (s *Batch) Stage(table string, columns []string, n int, row func(r *Row, i int)) {
	s.copies = append(s.copies, copyRows{table, true, columns, n, row})
}

// Queue adds a statement. ?schema in it stands for the schema of the tables.
func (s *Batch) Queue(statement string, args ...any) *pgx.QueuedQuery {
	return s.batch.Queue(
		strings.ReplaceAll(statement, "?schema", pgx.Identifier{s.schema}.Sanitize()), args...,
	)
}

// Send copies the rows, executes the statements in their order, and returns the first error.
func (s *Batch) Send(ctx context.Context, conn *pgx.Conn) error {
	for _, c := range s.copies {
		if err := c.send(ctx, conn, s.schema); err != nil {
			return err
		}
	}
	return conn.SendBatch(ctx, &s.batch).Close()
}

// Columns of set-based statements. Each is sent as one array.
type (
	// UUIDs is a column of ids.
	UUIDs = pgtype.FlatArray[pgtype.UUID]
	// Times is a column of times. The zero time is NULL.
	Times = pgtype.FlatArray[pgtype.Timestamptz]
	// Dates is a column of dates, which may be NULL.
	Dates = pgtype.FlatArray[pgtype.Date]
)

// UUID returns a value of a column of ids.
func UUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// Time returns a value of a column of times. The zero time is NULL.
func Time(at time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: at, Valid: !at.IsZero()}
}

// Date returns a value of a column of dates. nil is NULL.
func Date(day *time.Time) pgtype.Date {
	if day == nil {
		return pgtype.Date{}
	}
	return pgtype.Date{Time: *day, Valid: true}
}

// Array returns the text of an array of ids. Arrays of PostgreSQL are rectangular, so a column of
// arrays is sent as text[], and the statement casts its elements.
func Array(ids []uuid.UUID) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(id.String())
	}
	b.WriteByte('}')
	return b.String()
}

// Signed converts a position to PostgreSQL's bigint. A log is far smaller than 2^63 bytes.
func Signed(position uint64) int64 { return int64(position) } //nolint:gosec // below 2^63
