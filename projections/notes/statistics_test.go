package notes_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections"
	"linkledger/projections/foldtest"
	"linkledger/projections/history"
	"linkledger/projections/links"
	"linkledger/projections/logtest"
	"linkledger/projections/projectionstest"
	"linkledger/projections/readmodel"
)

// unprivileged returns the connection URL of a database for a role that owns the database and has
// no other rights, as on a managed PostgreSQL.
func unprivileged(ctx context.Context, t *testing.T, super *readmodel.DB, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	role := "owner_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := super.ExecContext(ctx, fmt.Sprintf("CREATE ROLE %s LOGIN NOSUPERUSER; ALTER DATABASE %s OWNER TO %[1]s",
		role, strings.TrimPrefix(u.Path, "/"))); err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// known returns the columns of tables and indexes for which the planner's statistics have a value
// that contains a text.
func known(ctx context.Context, t *testing.T, super *readmodel.DB, text string) (columns []string) {
	t.Helper()
	if err := super.NewRaw(`SELECT starelid::regclass || ' ' || staattnum FROM pg_statistic, lower(concat(stavalues1, stavalues2, stavalues3, stavalues4, stavalues5)) AS vals
		WHERE position(lower(?0) IN vals) > 0 OR position(encode(convert_to(lower(?0), 'UTF8'), 'hex') IN vals) > 0`,
		text).
		Scan(ctx, &columns); err != nil {
		t.Fatal(err)
	}
	return columns
}

// TestErasureIsForgottenByThePlanner checks that the planner's statistics lose the notes of an
// erased account, even if a table has no rows left for new statistics, and even if the role has no
// rights other than those of the tables' owner.
func TestErasureIsForgottenByThePlanner(t *testing.T) {
	t.Parallel()
	const secret, created = "Private thought", 30
	// Statistics of the note, the text, and the index of the text.
	columns := map[string]int{links.Name: 3, history.Name: 2}
	for _, p := range projections.All() {
		if p.Alone == nil { // the projection stores no notes
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			ctx, dsn := projectionstest.Context(t), postgrestest.NewDatabase(t)
			super := projectionstest.OpenAt(t, dsn)
			db := projectionstest.OpenAt(t, unprivileged(ctx, t, super, dsn))
			if err := projectionstest.Prepare(ctx, db); err != nil {
				t.Fatal(err)
			}
			w := foldtest.NewAt(t, db, p.Name)
			projector := w.Empty(ctx, t)
			account := uuid.NewString()
			var log []eventstore.Recorded
			handle := func(stream string, revision eventstore.Revision, e events.Event) {
				log = logtest.Record(log, stream, revision, e)
				foldtest.Apply(ctx, t, projector, log[len(log)-1:])
			}
			handle(events.StreamAccount+account, 0, events.AccountOpened{Account: account, Username: "erin", At: logtest.Noon})
			ids := make([]string, created)
			for i := range ids {
				ids[i] = uuid.NewString()
				handle(events.StreamURL+ids[i], 0, events.URLCreated{
					URLID: ids[i], Account: account, Hash: fmt.Sprint("h", i), LongURL: "https://example.com",
					Note: fmt.Sprint(secret, i), At: logtest.Noon,
				})
			}
			if _, err := super.ExecContext(ctx, "VACUUM (ANALYZE)"); err != nil {
				t.Fatal(err)
			}
			before := known(ctx, t, super, secret)
			if len(before) != columns[p.Name] {
				t.Fatalf("the statistics have notes in %v", before)
			}
			for i, id := range ids {
				handle(events.StreamURL+id, 1, events.URLDeleted{Account: account, Hash: fmt.Sprint("h", i), At: logtest.Noon})
			}
			if now := known(ctx, t, super, secret); len(now) < len(before) {
				t.Fatalf("before the erasure the statistics have notes in %v, want %v", now, before)
			}
			handle(events.StreamAccount+account, 1, events.AccountErased{At: logtest.Noon})
			if now := known(ctx, t, super, secret); len(now) > 0 {
				t.Errorf("the statistics still have notes in %v", now)
			}
		})
	}
}
