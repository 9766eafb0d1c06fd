package projections

import (
	"context"
	"errors"
	"fmt"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/projections/accounts"
	"linkledger/projections/activity"
	"linkledger/projections/dimensions"
	"linkledger/projections/engine"
	"linkledger/projections/engine/deadletter"
	"linkledger/projections/engine/generation"
	"linkledger/projections/engine/rebuild"
	"linkledger/projections/engine/status"
	"linkledger/projections/engine/verify"
	"linkledger/projections/history"
	"linkledger/projections/keystore"
	"linkledger/projections/keystore/keyfile"
	"linkledger/projections/links"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/tags"
	"linkledger/projections/tree"
	"linkledger/robots"
)

// Names of the projections.
const (
	Links      = links.Name
	Tags       = tags.Name
	Accounts   = accounts.Name
	Dimensions = dimensions.Name
	Tree       = tree.Name
	History    = history.Name
	Activity   = activity.Name
)

// All returns the projections of this program.
func All() projection.Set {
	return projection.Set{
		links.Projection(), tags.Projection(), accounts.Projection(), dimensions.Projection(),
		tree.Projection(), history.Projection(), activity.Projection(),
	}
}

// Awaited returns the names of the projections that writes wait for.
func Awaited() []string { return []string{Links, Tags, Accounts} }

// Filters returns the filters of all projections, by their names.
func Filters() map[string]eventstore.Filter {
	filters := make(map[string]eventstore.Filter)
	for _, p := range All() {
		filters[p.Name] = p.Filter
	}
	return filters
}

// Judging returns the names of the projections that count clicks, and so judge who is a robot. If
// clicks are judged anew, these projections are built together, because their numbers must agree.
func Judging() (names []string) {
	for _, p := range All() {
		if p.Judges {
			names = append(names, p.Name)
		}
	}
	return names
}

// Names returns the names of all projections.
func Names() []string { return All().Names() }

// Prepare creates what the database lacks: the control schema, and for each projection its tables,
// views and checkpoint. It updates the schema of keys if there is one, and creates none. Several
// processes may call it at once.
func Prepare(ctx context.Context, db *readmodel.DB) error {
	return generation.Prepare(ctx, db, Names())
}

// CheckNoLinks returns keystore.ErrMissing if the log has links already, because these were written
// with keys that the database lacks. A service MUST call CheckNoLinks before it creates the schema
// of keys, unless an operator gives up the keys of an earlier database.
func CheckNoLinks(ctx context.Context, store *eventstore.Store) error {
	links := projection.Streams(events.StreamURL, events.StreamHash)
	found, err := store.Backlog(ctx, eventstore.Position{}, links, 1)
	if err == nil && found.Events > 0 {
		err = keystore.ErrMissing
	}
	return err
}

// CreateWithoutKeys creates the schema of keys for a log whose keys are lost, as
// keystore.Keys.CreateWithoutKeys does.
func CreateWithoutKeys(ctx context.Context, db *readmodel.DB, store *eventstore.Store) error {
	head, err := store.Head(ctx)
	if err != nil {
		return err
	}
	return db.Locked(ctx, func(ctx context.Context) error {
		return db.Keys.CreateWithoutKeys(ctx, head.Commit)
	})
}

// RestoreKeys creates the schema of keys from its copy if the database lacks it, as
// keystore.Keys.Restore does. done is true if it did so.
func RestoreKeys(
	ctx context.Context, db *readmodel.DB,
) (restored keyfile.Restored, done bool, err error) {
	err = db.Locked(ctx, func(ctx context.Context) (err error) {
		restored, done, err = db.Keys.Restore(ctx)
		return err
	})
	return restored, done, err
}

// Rebuild builds the next generation of projections while the current ones serve, as rebuild.Run
// does. It returns ErrOtherLog if the database belongs to another log.
func Rebuild(
	ctx context.Context, cfg engine.Config, names []string, report func([]status.Progress),
) error {
	return RebuildJudged(ctx, cfg, names, nil, report)
}

// RebuildJudged is Rebuild. If words is not nil, it also decides anew, by words, which of the
// clicks recorded so far are a robot's.
func RebuildJudged(
	ctx context.Context, cfg engine.Config, names []string, words *robots.Table,
	report func([]status.Progress),
) error {
	if _, err := CheckLog(ctx, cfg.DB, cfg.Store); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	return rebuild.Run(ctx, All(), cfg, names, words, report)
}

// EstimateRebuild returns what the next build of a projection takes, as rebuild.EstimateBuild does.
func EstimateRebuild(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string,
) (rebuild.Estimate, error) {
	p, err := All().Named(name)
	if err != nil {
		return rebuild.Estimate{}, err
	}
	return rebuild.EstimateBuild(ctx, db, store, p)
}

// Rollback switches readers back to the previous generation and returns its number, as
// rebuild.Rollback does.
func Rollback(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string,
) (int, error) {
	p, err := All().Named(name)
	if err != nil {
		return 0, err
	}
	return rebuild.Rollback(ctx, db, store, p)
}

// Prune removes the generations of a projection that do not serve and returns how many there were,
// as rebuild.Prune does.
func Prune(ctx context.Context, db *readmodel.DB, name string) (int, error) {
	if _, err := All().Named(name); err != nil {
		return 0, err
	}
	return rebuild.Prune(ctx, db, name)
}

// ErrNothingCompared means that a verification had nothing to compare although the log has events.
var ErrNothingCompared = errors.New("nothing was compared")

// Verify compares a projection with a replay of the log, as verify.Run does. It returns
// ErrNothingCompared if the projection has applied no event although the log has events for it.
func Verify(
	ctx context.Context, db *readmodel.DB, store *eventstore.Store, name string,
	report func([]status.Progress),
) (verify.Result, error) {
	p, err := All().Named(name)
	if err != nil {
		return verify.Result{}, err
	}
	result, err := verify.Run(ctx, db, store, p, report)
	if err != nil || result.Events > 0 {
		return result, err
	}
	missing, err := store.Backlog(ctx, eventstore.Position{}, p.Filter, 1)
	if err == nil && missing.Events > 0 {
		err = fmt.Errorf("%w: no event is applied to the tables of %s, but the log has some",
			ErrNothingCompared, name)
	}
	return result, err
}

// DeadLetters lists the events that a projection has set aside, oldest first. An empty name stands
// for all projections.
func DeadLetters(
	ctx context.Context, db *readmodel.DB, name string,
) ([]readmodel.DeadLetter, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return deadletter.List(ctx, db, name)
}

// Followers returns the names of the projections whose filters match an event.
func Followers(r eventstore.Recorded) []string {
	var names []string
	for _, p := range All() {
		if p.Filter.Matches(r) {
			names = append(names, p.Name)
		}
	}
	return names
}

// RetryDeadLetters applies the dead letters of a projection, as deadletter.Retry does, and returns
// how many it has applied. The empty stream stands for all streams.
func RetryDeadLetters(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	p, err := All().Named(name)
	if err != nil {
		return 0, err
	}
	if stream == "" {
		return deadletter.Retry(ctx, db, p)
	}
	return deadletter.Retry(ctx, db, p, stream)
}

// DiscardDeadLetters gives up dead letters of a projection, as deadletter.Discard does.
func DiscardDeadLetters(
	ctx context.Context, db *readmodel.DB, name, stream string,
) (deadletter.Outcome, error) {
	p, err := All().Named(name)
	if err != nil {
		return deadletter.Outcome{}, err
	}
	return deadletter.Discard(ctx, db, p, stream)
}

// DiscardedEvents returns the events that a projection has given up, as deadletter.ListDiscarded
// does. An empty name stands for all projections.
func DiscardedEvents(
	ctx context.Context, db *readmodel.DB, name string,
) ([]deadletter.DiscardedEvent, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return deadletter.ListDiscarded(ctx, db, name)
}

// checkName returns projection.ErrUnknown for a name that is neither empty nor of a projection.
func checkName(name string) error {
	if name == "" {
		return nil
	}
	_, err := All().Named(name)
	return err
}

// RestoreDiscarded undoes DiscardDeadLetters, as deadletter.Restore does, and returns the number of
// the restored events. The next rebuild applies them again.
func RestoreDiscarded(ctx context.Context, db *readmodel.DB, name, stream string) (int, error) {
	if _, err := All().Named(name); err != nil {
		return 0, err
	}
	return deadletter.Restore(ctx, db, name, stream)
}
