package sqlbatch

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Columns describes columns of a table once, for rows of the type R. COPY, INSERT, UPDATE and
// SELECT take the names, types and values of the columns from it.
type Columns[R any] []Column[R]

// Column is one column of a table.
type Column[R any] struct {
	name   string
	array  string // type of an array of its values, as statements take them
	cast   string // from an element of the array to the column; empty: none
	copy   func(to *Row, row *R)
	values func(rows []*R) any
	scan   func(row *R) any
}

func newColumn[R, T, P any](
	name, array string, of func(*R) *T, copyValue func(*Row, T), parameter func(T) P,
) Column[R] {
	return Column[R]{
		name: name, array: array,
		copy: func(to *Row, row *R) { copyValue(to, *of(row)) },
		values: func(rows []*R) any {
			values := make(pgtype.FlatArray[P], len(rows))
			for i, row := range rows {
				values[i] = parameter(*of(row))
			}
			return values
		},
		scan: func(row *R) any { return of(row) },
	}
}

func same[T any](value T) T { return value }

// TextColumn returns a column of texts.
func TextColumn[R any](name string, of func(*R) *string) Column[R] {
	return newColumn(name, "text[]", of, (*Row).Text, same)
}

// BytesColumn returns a column of the bytes of texts.
func BytesColumn[R any](name string, of func(*R) *string) Column[R] {
	return newColumn( // text and bytea have the same binary form
		name, "bytea[]", of, (*Row).Text, func(text string) []byte { return []byte(text) },
	)
}

// BoolColumn returns a column of booleans.
func BoolColumn[R any](name string, of func(*R) *bool) Column[R] {
	return newColumn(name, "bool[]", of, (*Row).Bool, same)
}

// IntegerColumn returns a column of integers of 4 bytes.
func IntegerColumn[R any](name string, of func(*R) *int) Column[R] {
	return newColumn(name, "integer[]", of, (*Row).Integer, func(n int) int64 { return int64(n) })
}

// BigintColumn returns a column of integers of 8 bytes.
func BigintColumn[R any](name string, of func(*R) *int64) Column[R] {
	return newColumn(name, "bigint[]", of, (*Row).Bigint, same)
}

// UUIDColumn returns a column of ids.
func UUIDColumn[R any](name string, of func(*R) *uuid.UUID) Column[R] {
	return newColumn(name, "uuid[]", of, (*Row).UUID, UUID)
}

// DateColumn returns a column of dates. nil is NULL.
func DateColumn[R any](name string, of func(*R) **time.Time) Column[R] {
	return newColumn(name, "date[]", of, (*Row).Date, Date)
}

// TimeColumn returns a column of times. The zero time is NULL.
func TimeColumn[R any](name string, of func(*R) *time.Time) Column[R] {
	c := newColumn(name, "timestamptz[]", of, (*Row).Timestamptz, Time)
	c.scan = func(row *R) any { return (*nullableTime)(of(row)) }
	return c
}

// UUIDsColumn returns a column of arrays of ids. PostgreSQL has no array of arrays of different
// lengths, so each row's ids come as the text of an array.
func UUIDsColumn[R any](name string, of func(*R) *[]uuid.UUID) Column[R] {
	c := newColumn(name, "text[]", of, (*Row).UUIDs, Array)
	c.cast = "::uuid[]"
	return c
}

// nullableTime reads NULL as the zero time.
type nullableTime time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (t *nullableTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = nullableTime(v.Time)
	return nil
}

// Within returns the columns for rows of the type R that contain a row of the type S.
func Within[R, S any](columns Columns[S], part func(*R) *S) Columns[R] {
	within := make(Columns[R], len(columns))
	for i, c := range columns {
		within[i] = Column[R]{
			name: c.name, array: c.array, cast: c.cast,
			copy: func(to *Row, row *R) { c.copy(to, part(row)) },
			values: func(rows []*R) any {
				parts := make([]*S, len(rows))
				for i, row := range rows {
					parts[i] = part(row)
				}
				return c.values(parts)
			},
			scan: func(row *R) any { return c.scan(part(row)) },
		}
	}
	return within
}

// Names returns the names of the columns.
func (c Columns[R]) Names() []string {
	names := make([]string, len(c))
	for i, column := range c {
		names[i] = column.name
	}
	return names
}

// List returns the names of the columns as a statement lists them. If table is not empty, it
// precedes each name.
func (c Columns[R]) List(table string) string {
	if table != "" {
		table += "."
	}
	return table + strings.Join(c.Names(), ", "+table)
}

// Insert returns the beginning of a statement that inserts the rows of Arrays into a table. The
// statement takes one array for each column, because its text then does not depend on the number of
// rows.
func (c Columns[R]) Insert(table string) string {
	selected := make([]string, len(c))
	for i, column := range c {
		selected[i] = column.name + column.cast
	}
	return "INSERT INTO " + table + " (" + c.List("") + ") SELECT " +
		strings.Join(selected, ", ") + " FROM " + c.Unnest("new")
}

// Unnest returns a FROM item with the name alias. It has the rows of Arrays, which are the
// parameters from $1 on.
func (c Columns[R]) Unnest(alias string) string {
	parameters := make([]string, len(c))
	for i, column := range c {
		parameters[i] = fmt.Sprintf("$%d::%s", i+1, column.array)
	}
	return "unnest(" + strings.Join(parameters, ", ") + ") AS " + alias + " (" + c.List("") + ")"
}

// Assign returns the assignments that give each column its value in a row, such as EXCLUDED.
func (c Columns[R]) Assign(row string) string {
	assignments := make([]string, len(c))
	for i, column := range c {
		assignments[i] = column.name + " = " + row + "." + column.name + column.cast
	}
	return strings.Join(assignments, ", ")
}

// Copy adds the values of a row to a COPY.
func (c Columns[R]) Copy(to *Row, row *R) {
	for _, column := range c {
		column.copy(to, row)
	}
}

// Arrays returns the parameters of Insert and Unnest.
func (c Columns[R]) Arrays(rows []*R) []any {
	arrays := make([]any, len(c))
	for i, column := range c {
		arrays[i] = column.values(rows)
	}
	return arrays
}

// Scan returns pointers to the fields of a row, into which the columns of a query are scanned.
func (c Columns[R]) Scan(row *R) []any {
	into := make([]any, len(c))
	for i, column := range c {
		into[i] = column.scan(row)
	}
	return into
}
