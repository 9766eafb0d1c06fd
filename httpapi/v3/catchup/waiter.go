// Package catchup makes calls wait until the read models show the changes that their responses
// depend on: the call's own write, or the clicks of this node.
package catchup

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/clicks"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/queries/progress"
)

// The projections that calls wait for.
const (
	Links      = "links"
	Dimensions = "dimensions"
	Activity   = "activity"
	History    = "history"
	Tree       = "tree"

	accounts = "accounts"
	tags     = "tags"
)

// Projections are functions about the progress of projections. In the service, Wait, WaitUndelayed
// and WaitForOthers are the methods WaitOwned, WaitUndelayed and WaitForOthers of progress.Waiter.
type Projections struct {
	// Wait returns nil once a projection has passed a commit position. It fails with the error of
	// ctx, or with progress.ErrUnowned if no process updates the projection.
	Wait func(ctx context.Context, projection string, position uint64) error
	// WaitUndelayed is Wait for a projection whose projector delays events, such as clicks, while
	// no caller waits for them.
	WaitUndelayed func(ctx context.Context, projection string, position uint64) error
	// WaitForOthers returns nil once a projection has passed the last known changes that the
	// projections others have applied. It fails like Wait.
	WaitForOthers func(ctx context.Context, projection string, others ...string) error
	// LastChange, LacksEffect and SetAside are methods of progress.Waiter.
	LastChange  func(ctx context.Context, account uuid.UUID) (uint64, error)
	LacksEffect func(ctx context.Context, position uint64, endsRights bool) (bool, error)
	SetAside    func(
		ctx context.Context, projection string, positions ...uint64,
	) (map[uint64]struct{}, error)
	// Misplaced and Behind are methods of level.Watch. If they are nil, the read models count as
	// correct and up to date.
	Misplaced func(projections ...string) bool
	Behind    func(projections ...string) time.Duration
}

// Complete reports whether no function except Misplaced and Behind is missing.
func (p *Projections) Complete() bool {
	return p.Wait != nil && p.WaitUndelayed != nil && p.WaitForOthers != nil &&
		p.LastChange != nil && p.LacksEffect != nil && p.SetAside != nil
}

// Waiter waits for projections on behalf of calls. Each wait ends after Timeout at the latest.
type Waiter struct {
	Projections

	Clicks  *clicks.Recorder // records the clicks of this node; nil: none
	Timeout time.Duration    // of each wait
	Logger  *slog.Logger
}

// Positions are the positions of the last events of a write. A position is zero if the write has no
// events of that kind.
type Positions struct {
	URLs, Tags, Accounts uint64 // commit positions of events of URLs, tags and accounts
}

// AwaitWrite sets the header with the commit position of a write, and waits until the read models
// show the write. If the wait fails or times out, AwaitWrite logs a warning and returns, because
// the write is durable either way.
func (w *Waiter) AwaitWrite(c *request.Context, last Positions) {
	end := max(last.URLs, last.Tags, last.Accounts)
	if end == 0 {
		return
	}
	c.Header().Set(response.HeaderPosition, strconv.FormatUint(end, 10))
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	for _, wait := range []struct {
		projection string
		position   uint64
	}{{Links, last.URLs}, {tags, last.Tags}, {accounts, last.Accounts}} {
		if wait.position == 0 {
			continue
		}
		err := w.Wait(ctx, wait.projection, wait.position)
		// The service logs ErrUnowned once, so calls do not.
		if err != nil && !errors.Is(err, progress.ErrUnowned) {
			w.Logger.WarnContext(c.Context(), "write answered before the read models show it",
				slog.String("request", c.ID), slog.String("projection", wait.projection),
				slog.Uint64("position", wait.position), slog.Any("error", err))
		}
	}
}

// AwaitLinks waits until the links projection has passed a commit position. It returns false if the
// wait fails or times out.
func (w *Waiter) AwaitLinks(c *request.Context, position uint64) bool {
	return w.await(c, Links, position)
}

// AwaitEffect waits until the read models show a change of an account or a person. It fails with
// status 503 if they do not show the change in time. It also fails with status 503 if the change
// cannot take effect, because events of the account could not be applied and are set aside as dead
// letters.
func (w *Waiter) AwaitEffect(c *request.Context, position uint64) error {
	return w.awaitEffect(c, position, false)
}

// AwaitEnd is AwaitEffect for a change that only ends rights. Once it returns nil, the rights have
// ended. Such a change takes effect even if earlier events of the account are set aside as dead
// letters, unless one of these events ends rights and could not be applied either.
func (w *Waiter) AwaitEnd(c *request.Context, position uint64) error {
	return w.awaitEffect(c, position, true)
}

func (w *Waiter) awaitEffect(c *request.Context, position uint64, endsRights bool) error {
	if position == 0 {
		return nil
	}
	if !w.await(c, accounts, position) {
		return apierror.Late("The change is stored, but may not have taken effect yet: " +
			"repeat the call to wait for it")
	}
	return w.CheckEffect(c, position, endsRights)
}

// CheckEffect fails with status 503 if a change of an account or a person cannot take effect,
// because events of the account are set aside as dead letters. endsRights means that the change
// only ends rights.
func (w *Waiter) CheckEffect(c *request.Context, position uint64, endsRights bool) error {
	lacks, err := w.LacksEffect(c.Context(), position, endsRights)
	if err != nil {
		return apierror.Unavailable(err)
	}
	if lacks {
		return apierror.Late("The change is stored, but cannot take effect, because earlier " +
			"changes of the account cannot be applied: tell the operator of this service")
	}
	return nil
}

// AwaitTags is AwaitWrite for a change of tags. It fails with status 503 if the change cannot take
// effect, because events of the tags are set aside as dead letters.
func (w *Waiter) AwaitTags(c *request.Context, position uint64) error {
	w.AwaitWrite(c, Positions{Tags: position})
	lacking, err := w.TagsLack(c, position)
	if err == nil && lacking {
		err = ErrTagsLack
	}
	return err
}

// TagsLack reports whether the change of tags at a commit position has no effect, because events of
// the tags are set aside as dead letters.
func (w *Waiter) TagsLack(c *request.Context, position uint64) (bool, error) {
	lacking, err := w.SetAside(c.Context(), tags, position)
	return len(lacking) > 0, apierror.Unavailable(err)
}

// LinksLack returns those of the commit positions whose changes have no effect, because events of
// their links are set aside as dead letters.
func (w *Waiter) LinksLack(
	c *request.Context, positions ...uint64,
) (map[uint64]struct{}, error) {
	lacking, err := w.SetAside(c.Context(), Links, positions...)
	return lacking, apierror.Unavailable(err)
}

// The errors of changes that are stored but have no effect.
var (
	ErrTagsLack = apierror.Late("The change is stored, but cannot take effect, because earlier " +
		"changes of the tags cannot be applied: tell the operator of this service")
	ErrLinkLacks = apierror.Late("The change is stored, but cannot take effect, because earlier " +
		"changes of the URL cannot be applied: tell the operator of this service")
)

// AwaitTree is AwaitLinks for the tree projection.
func (w *Waiter) AwaitTree(c *request.Context, position uint64) bool {
	return w.await(c, Tree, position)
}

func (w *Waiter) await(c *request.Context, projection string, position uint64) bool {
	return w.Shows(c.Context(), projection, position)
}

// Shows waits until a projection has passed a commit position. It returns false if the wait fails
// or times out.
func (w *Waiter) Shows(ctx context.Context, projection string, position uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	return w.Wait(ctx, projection, position) == nil
}

// AwaitClicks waits until a projection shows the clicks that this node has recorded so far, or
// until the wait times out. A client that follows a link and then reads its clicks thus finds its
// own click. Only calls whose responses depend on clicks wait, and each of them waits once.
func (w *Waiter) AwaitClicks(c *request.Context, projection string) {
	if w.Clicks == nil || w.Clicks.Position() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	err := w.WaitUndelayed(ctx, projection, w.Clicks.Position())
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.Context(), "read answered before the read models show all clicks",
			slog.String("request", c.ID), slog.String("projection", projection),
			slog.Any("error", err))
	}
}

// AwaitHistory waits until the history projection has all changes that other projections may show
// already, or until the wait times out.
func (w *Waiter) AwaitHistory(c *request.Context) { w.awaitOthers(c, History) }

// AwaitActivity is AwaitHistory for the activity projection.
func (w *Waiter) AwaitActivity(c *request.Context) { w.awaitOthers(c, Activity) }

func (w *Waiter) awaitOthers(c *request.Context, projection string) {
	ctx, cancel := context.WithTimeout(c.Context(), w.Timeout)
	defer cancel()
	err := w.WaitForOthers(ctx, projection, Links, tags, accounts)
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		w.Logger.WarnContext(c.Context(), "read answered before the read models show all changes",
			slog.String("request", c.ID), slog.String("projection", projection),
			slog.Any("error", err))
	}
}
