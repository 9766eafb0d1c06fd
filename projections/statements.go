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
	schema string // of the tables
	batch  pgx.Batch
	copies []copied
}

// newStatements returns none yet, for the tables of a schema.
func newStatements(schema string) *statements { return &statements{schema: schema} }

// begin queues the beginning of a transaction.
func (s *statements) begin() { s.batch.BeginTx(pgx.TxOptions{}) }

// commit queues the end of a transaction.
func (s *statements) commit() { s.batch.Queue("COMMIT") }

// len returns how many statements are queued.
func (s *statements) len() int { return s.batch.Len() }

// copy adds n new rows of a table. They are asked for when they are sent.
func (s *statements) copy(table string, columns []string, n int, row func(r *copyRow, i int)) {
	if n > 0 {
		s.copies = append(s.copies, copied{table, false, columns, n, row})
	}
}

// stage has n rows ready for the statements in a table pg_temp.staged_<table> that ends with the transaction.
func (s *statements) stage(table string, columns []string, n int, row func(r *copyRow, i int)) {
	s.copies = append(s.copies, copied{table, true, columns, n, row})
}

// queue adds a statement, in which ?schema stands for the schema of the tables.
func (s *statements) queue(statement string, args ...any) *pgx.QueuedQuery {
	return s.batch.Queue(strings.ReplaceAll(statement, "?schema", pgx.Identifier{s.schema}.Sanitize()), args...)
}

// send executes the statements in their order and returns the first error.
func (s *statements) send(ctx context.Context, conn *pgx.Conn) error {
	for _, c := range s.copies {
		if err := c.send(ctx, conn, s.schema); err != nil {
			return err
		}
	}
	return conn.SendBatch(ctx, &s.batch).Close()
}

// Columns of set-based statements: each is sent as one array.
type (
	uuidColumn = pgtype.FlatArray[pgtype.UUID]
	timeColumn = pgtype.FlatArray[pgtype.Timestamptz]
	dateColumn = pgtype.FlatArray[pgtype.Date]
)

func toUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

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

// signed converts a position to PostgreSQL's bigint. A log has far less than 2^63 bytes.
func signed(position uint64) int64 { return int64(position) } //nolint:gosec // see above
