package readmodel

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// heartbeat is how long the connection may be quiet before it has to prove that it is alive, and
// how long it may take for that. A firewall that drops connections drops them silently.
const heartbeat = time.Second

// NextNotification waits for the next notification on a connection of DB.Listen, and returns its
// payload. Meanwhile it sees to it that the connection is alive.
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
