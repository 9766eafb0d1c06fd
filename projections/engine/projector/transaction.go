package projector

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"linkledger/events/eventstore"
	"linkledger/projections/engine/generation"
	"linkledger/projections/sqlbatch"
)

// transact moves the checkpoint in a transaction of two round trips: with the first one comes what
// is read, with the second one goes what is written, and the notification where readers see the
// generation. It returns what write has changed.
//
// These transactions commit without waiting for the disk (see readmodel.DB.Writers). A crash of the
// database may take the last of them back, rows and checkpoint together: what they held is applied
// again, from the log.
func (p *Projector) transact(
	ctx context.Context, to eventstore.Position,
	read func(*sqlbatch.Batch),
	write func(s *sqlbatch.Batch, serving bool) (changed []string, err error),
) (serving bool, changed []string, err error) {
	conn, err := p.db.Writers.Acquire(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("bring %s up to date: %w", p.projection.Name, err)
	}
	defer conn.Release()
	defer func() {
		if err != nil {
			rollback(ctx, conn)
		}
	}()
	reading := sqlbatch.New(p.at.Schema())
	reading.Begin()
	p.at.Advance(reading, to, p.lease, &serving)
	read(reading)
	if err := reading.Send(ctx, conn.Conn()); err != nil {
		return false, nil, fmt.Errorf("read what a batch of %s changes: %w", p.projection.Name, err)
	}
	writing := sqlbatch.New(p.at.Schema())
	if changed, err = write(writing, serving); err != nil {
		return false, nil, err
	}
	if serving {
		generation.Announce(writing, p.projection.Name, to, changed)
	}
	writing.Commit()
	ctx, cancel := outliving(ctx)
	defer cancel()
	if err := writing.Send(ctx, conn.Conn()); err != nil {
		return false, nil, fmt.Errorf("write a batch of %s: %w", p.projection.Name, err)
	}
	return serving, changed, nil
}

// commitGrace bounds a commit, and a rollback, whose context has ended.
const commitGrace = 2 * time.Second

// outliving returns a context that goes on for a little when ctx has ended: a commit that is cut
// off may have happened, and then this process would tell nobody.
func outliving(ctx context.Context) (context.Context, context.CancelFunc) {
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

// rollback ends the transaction of a connection. A connection that does not get there is closed by
// its release.
func rollback(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK")
}
