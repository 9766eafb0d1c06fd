package connection

// This file stops a query when its context ends.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// stopTimeout is how long PostgreSQL may take to confirm that it has stopped a query.
	stopTimeout = time.Second
	// stopRequestTimeout bounds the request to stop a query.
	stopRequestTimeout = 5 * time.Second
	// deliveryPause is how long PostgreSQL may take to pass an accepted request to the process of
	// the query. Until then the connection MUST NOT begin another query, because the request would
	// stop that query.
	deliveryPause = 100 * time.Millisecond
)

// stopper is a ctxwatch.Handler. It asks PostgreSQL to stop the query whose context has ended, and
// closes the connection if there is no answer within stopTimeout.
//
// It replaces the handler that pgx has, because that one cuts the request off if the query ends by
// itself before the request is done. PgBouncer 1.18 then exits, and closes the connections of all
// clients (https://github.com/pgbouncer/pgbouncer/issues/801).
type stopper struct {
	conn  *pgconn.PgConn
	asked chan struct{} // closed when the request has ended
}

// HandleCancel implements ctxwatch.Handler.
func (s *stopper) HandleCancel(context.Context) {
	_ = s.conn.Conn().SetDeadline(time.Now().Add(stopTimeout)) // fails on a closed connection
	asked := make(chan struct{})
	s.asked = asked
	go func() { //nolint:gosec // G118: the context of the query has ended
		defer close(asked)
		ctx, cancel := context.WithTimeout(context.Background(), stopRequestTimeout)
		defer cancel()
		if err := s.conn.CancelRequest(ctx); err == nil {
			<-time.After(deliveryPause)
		}
	}()
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler. If the request has not ended within
// stopTimeout, the connection keeps a deadline in the past and cannot be used again.
func (s *stopper) HandleUnwatchAfterCancel() {
	select {
	case <-s.asked:
		_ = s.conn.Conn().SetDeadline(time.Time{}) // fails on a closed connection
	case <-time.After(stopTimeout):
		_ = s.conn.Conn().SetDeadline(time.Unix(1, 0)) // as above
	}
}
