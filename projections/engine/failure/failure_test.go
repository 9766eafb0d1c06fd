package failure_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/failure"
	"linkledger/projections/engine/generation"
	"linkledger/projections/projection"
)

func TestTransient(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"connection": {&pgconn.PgError{Code: "08006"}, true}, "serialization": {&pgconn.PgError{Code: "40001"}, true},
		"deadlock": {&pgconn.PgError{Code: "40P01"}, true}, "disk full": {&pgconn.PgError{Code: "53100"}, true},
		"shutdown": {&pgconn.PgError{Code: "57P01"}, true}, "statement timeout": {&pgconn.PgError{Code: "57014"}, true},
		"lock timeout": {&pgconn.PgError{Code: "55P03"}, true}, "standby": {&pgconn.PgError{Code: "25006"}, true},
		"cut off": {io.ErrUnexpectedEOF, true}, "event store": {eventstore.ErrUnavailable, true},
		"fenced": {generation.ErrFenced, true}, "credentials": {&pgconn.PgError{Code: "28P01"}, true},
		"statement that a pooler lost":  {&pgconn.PgError{Code: "26000"}, true},
		"statement of another client":   {&pgconn.PgError{Code: "42P05"}, true},
		"cursor that a pooler lost":     {&pgconn.PgError{Code: "34000"}, true},
		"cursor of another client":      {&pgconn.PgError{Code: "42P03"}, true},
		"transaction of another client": {&pgconn.PgError{Code: "25P02"}, true},
		"refused by a pooler":           {&pgconn.PgError{Code: "08P01"}, true},
		"too many connections":          {&pgconn.PgError{Code: "53300"}, true},
		"no such database":              {&pgconn.PgError{Code: "3D000"}, true},
		"disk":                          {&pgconn.PgError{Code: "58030"}, true},
		"configuration":                 {&pgconn.PgError{Code: "F0000"}, true},
		"damage":                        {&pgconn.PgError{Code: "XX001"}, true},
		"no right, or a read-only disk": {&pgconn.PgError{Code: "42501"}, true},
		"no such schema":                {&pgconn.PgError{Code: "3F000"}, false}, "not supported": {&pgconn.PgError{Code: "0A000"}, false},
		"value too long": {&pgconn.PgError{Code: "22001"}, false}, "duplicate": {&pgconn.PgError{Code: "23505"}, false},
		"no such table": {&pgconn.PgError{Code: "42P01"}, false}, "panic": {failure.ErrPanicked, false},
		"event": {&projection.EventError{Err: io.EOF}, false}, "no code": {&pgconn.PgError{}, false},
	} {
		if got := failure.Transient(fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
			t.Errorf("%s: transient is %v", name, got)
		}
	}
}

// TestOfEvent checks that only errors that are certain to come again for one event and no other are
// about the event.
func TestOfEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"fold": {&projection.EventError{Err: io.EOF}, true}, "panic": {failure.ErrPanicked, true},
		"NUL": {&pgconn.PgError{Code: "22021"}, true}, "duplicate": {&pgconn.PgError{Code: "23505"}, true},
		"too large for an index": {&pgconn.PgError{Code: "54000"}, true},
		"no such table":          {&pgconn.PgError{Code: "42P01"}, false}, "no right": {&pgconn.PgError{Code: "42501"}, false},
		"statement that a pooler lost": {&pgconn.PgError{Code: "26000"}, false},
		"statement of another client":  {&pgconn.PgError{Code: "42P05"}, false},
		"cursor that a pooler lost":    {&pgconn.PgError{Code: "34000"}, false}, "damage": {&pgconn.PgError{Code: "XX001"}, false},
		"refused by a pooler": {&pgconn.PgError{Code: "08P01"}, false}, "shutdown": {&pgconn.PgError{Code: "57P01"}, false},
		"transaction of another client": {&pgconn.PgError{Code: "25P02"}, false},
		"internal error":                {&pgconn.PgError{Code: "XX000"}, false}, "disk": {&pgconn.PgError{Code: "58030"}, false},
		"credentials": {&pgconn.PgError{Code: "28P01"}, false}, "standby": {&pgconn.PgError{Code: "25006"}, false}, "disk full": {&pgconn.PgError{Code: "53100"}, false},
		"no code": {&pgconn.PgError{}, false}, "cut off": {io.ErrUnexpectedEOF, false}, "nothing": {nil, false},
	} {
		if got := failure.OfEvent(tc.err); got != tc.want {
			t.Errorf("%s: about the event is %v", name, got)
		}
	}
}
