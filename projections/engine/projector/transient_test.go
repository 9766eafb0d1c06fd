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
