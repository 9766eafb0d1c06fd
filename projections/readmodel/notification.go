package readmodel

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// heartbeat is how long a connection may be quiet before it is pinged, and how long the ping may
// take. A firewall may drop a connection without closing it.
const heartbeat = time.Second

// NextNotification waits for the next notification on a connection of DB.Listen, and returns its
// payload. It pings the connection while it waits, and fails if the connection is lost.
func NextNotification(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, heartbeat)
		notification, err := conn.WaitForNotification(quiet)
		cancel()
		if err == nil {
			return notification.Payload, nil
		}
		if ctx.Err() != nil || !pgconn.Timeout(err) {
			return "", err
		}
		alive, cancel := context.WithTimeout(ctx, heartbeat)
		err = conn.Ping(alive)
		cancel()
		if err != nil {
			return "", err
		}
	}
}
