package sqlbatch

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// commitGrace is how long a commit or a rollback may continue after its context has ended.
const commitGrace = 2 * time.Second

// Outliving returns a context that ends commitGrace after ctx. A commit has this time, because one
// that is cut off may have succeeded, and nobody would be notified of its changes.
func Outliving(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(commitGrace):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// Rollback ends the transaction of a connection. If it fails, a pool closes the connection.
func Rollback(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK")
}
