package projections

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// statements go to the database together, in one round trip; before them go the rows that are copied.
type statements struct {
	pgx.Batch

	schema string // of the tables
	notes  *noteKeys
	bulk   *bulk // not nil: new rows are to be copied, and readmodel.Complete comes at the end
	copies []copied
}

// copied are rows for a table that has none of them.
type copied struct {
	table   string
	columns []string
	rows    [][]any
}

func newStatements(schema string, notes *noteKeys) *statements {
	return &statements{schema: schema, notes: notes}
}

// copy adds n new rows of a table.
func (s *statements) copy(table string, columns []string, n int, row func(i int) []any) {
	if n == 0 {
		return
	}
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = row(i)
	}
	s.copies = append(s.copies, copied{table, columns, rows})
}

// queue adds a statement, in which ?schema stands for the schema of the tables.
func (s *statements) queue(statement string, args ...any) *pgx.QueuedQuery {
	return s.Queue(strings.ReplaceAll(statement, "?schema", pgx.Identifier{s.schema}.Sanitize()), args...)
}

// session is a connection, or a transaction on it.
type session interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
}

// send executes the statements in their order and returns the first error.
func (s *statements) send(ctx context.Context, on session) error {
	for _, c := range s.copies {
		if _, err := on.CopyFrom(ctx, pgx.Identifier{s.schema, c.table}, c.columns, pgx.CopyFromRows(c.rows)); err != nil {
			return err
		}
	}
	return on.SendBatch(ctx, &s.Batch).Close()
}

// Columns of set-based statements: each is sent as one array.
type (
	uuidColumn = pgtype.FlatArray[pgtype.UUID]
	timeColumn = pgtype.FlatArray[pgtype.Timestamptz]
	dateColumn = pgtype.FlatArray[pgtype.Date]
)

func toUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func toUUIDs(ids []uuid.UUID) uuidColumn {
	column := make(uuidColumn, len(ids)) // not nil, which would be NULL
	for i, id := range ids {
		column[i] = toUUID(id)
	}
	return column
}

// toTime makes the zero time NULL.
func toTime(at time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: at, Valid: !at.IsZero()}
}

// toDate makes nil NULL.
func toDate(day *time.Time) pgtype.Date {
	if day == nil {
		return pgtype.Date{}
	}
	return pgtype.Date{Time: *day, Valid: true}
}

// toArray writes an array of one row. PostgreSQL's arrays are rectangular, so a column of arrays goes as text[], whose
// elements the statement casts.
func toArray(ids []uuid.UUID) string {
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
