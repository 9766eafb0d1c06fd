package projector

import (
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore"
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
		"fenced":         {generation.ErrFenced, true},
		"value too long": {&pgconn.PgError{Code: "22001"}, false}, "duplicate": {&pgconn.PgError{Code: "23505"}, false},
		"no such table": {&pgconn.PgError{Code: "42P01"}, false}, "panic": {errPanicked, false},
		"event": {&projection.EventError{Err: io.EOF}, false}, "no code": {&pgconn.PgError{}, false},
	} {
		if got := Transient(fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
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
		"fold": {&projection.EventError{Err: io.EOF}, true}, "panic": {errPanicked, true},
		"NUL": {&pgconn.PgError{Code: "22021"}, true}, "duplicate": {&pgconn.PgError{Code: "23505"}, true},
		"too large for an index": {&pgconn.PgError{Code: "54000"}, true},
		"no such table":          {&pgconn.PgError{Code: "42P01"}, false}, "no right": {&pgconn.PgError{Code: "42501"}, false},
		"pooler": {&pgconn.PgError{Code: "26000"}, false}, "disk full": {&pgconn.PgError{Code: "53100"}, false},
		"no code": {&pgconn.PgError{}, false}, "cut off": {io.ErrUnexpectedEOF, false}, "nothing": {nil, false},
	} {
		if got := OfEvent(tc.err); got != tc.want {
			t.Errorf("%s: about the event is %v", name, got)
		}
	}
}
