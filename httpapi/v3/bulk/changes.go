// Package bulk changes several URLs in one call. The call names their hashes, has a tag expression,
// or undoes earlier calls. Calls with a tag expression and undos may change any number of URLs, so
// only one such call of an account runs at a time on a node.
package bulk

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/commands/permit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/turn"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/linklist"
	"linkledger/tagexpr"
)

// Change is a command on several URLs that needs no payload.
type Change func(ctx context.Context, r domain.Request, refs []linkwrite.Ref) []linkwrite.Outcome

// Config of Changes. All fields are required.
type Config struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *write.Requests
	Waiter   *catchup.Waiter
	Bound    selection.Bound

	Timeout   time.Duration // after which a call with a tag expression or an undo begins no portion
	MaxHashes int           // the most hashes of a call
	MaxFailed int           // the most refused URLs in the response of Undo
}

// Changes runs commands on several URLs. It is safe for concurrent use.
type Changes struct {
	cfg    Config
	queues *turn.Queues
}

// maxWaiting is the most operations of one account that wait on a node until an earlier one of the
// account has ended. Operations that ran concurrently would slow the event store and the
// projections down for the calls of other accounts.
const maxWaiting = 16

var errTooMany = apierror.TooMany(
	"Too many changes by tags and undone batches of this account wait for their turn, repeat the "+
		"call when some are done", 10*time.Second,
)

// New returns Changes without operations.
func New(cfg Config) *Changes {
	return &Changes{cfg: cfg, queues: turn.New(1, maxWaiting, errTooMany)}
}

// One runs a command on the URL that the path names.
func (b *Changes) One(c *request.Context, do Change) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	if err := b.cfg.Bound.Need(c, hash); err != nil {
		return nil, err
	}
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome := do(c.Context(), r, linkwrite.ByHash(hash))
	if outcome[0].Err != nil {
		return nil, outcome[0].Err
	}
	b.cfg.Waiter.AwaitWrite(c, catchup.Positions{URLs: outcome[0].Position.Commit})
	err = write.CheckEffects(c, b.cfg.Waiter, outcome)
	if err := cmp.Or(err, outcome[0].Err); err != nil {
		return nil, err
	}
	return response.Succeeded(), nil
}

// All runs a command on the URLs that the parameters select. It does not report refusals of single
// URLs, because the response of the contract has no field for them.
func (b *Changes) All(c *request.Context, do Change) (any, error) {
	chosen, err := selection.ForChange(c, b.cfg.MaxHashes)
	if err != nil {
		return nil, err
	}
	if chosen.Hashes == nil && chosen.Tags == nil {
		return nil, &apierror.Error{
			Code:    apierror.CodeMissingInput,
			Details: "Say which URLs are meant, with the parameter hashes or tags",
		}
	}
	if chosen.Tags != nil {
		if err := b.Tagged(c, chosen.Tags, do); err != nil {
			return nil, err
		}
		return response.Succeeded(), nil
	}
	visible, err := b.cfg.Bound.Visible(c, chosen.Hashes)
	if err != nil {
		return nil, err
	}
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcomes := do(c.Context(), r, linkwrite.ByHash(visible...))
	if err := write.FirstFault(outcomes); err != nil {
		return nil, err
	}
	b.cfg.Waiter.AwaitWrite(c, write.PositionsOf(commands.URLsOutcome{Items: outcomes}))
	done := changed(outcomes)
	if err := permit.Refused(c.Context()); err != nil {
		return nil, cutOff(err, done)
	}
	err = write.CheckEffects(c, b.cfg.Waiter, outcomes)
	if err := cmp.Or(err, write.FirstLacking(outcomes)); err != nil {
		return nil, err
	}
	return response.Succeeded(), nil
}

// portion is how many URLs an operation changes before it waits for the read models. It is small
// because the read models apply events in the order of the log: a write of another account that
// follows a portion in the log is shown only after the whole portion.
const portion = 25

// operation is a change of any number of URLs by one call.
type operation struct {
	changes  *Changes
	c        *request.Context
	written  catchup.Positions // positions of the last events written so far
	changed  int               // URLs changed so far
	timedOut bool              // whether a wait for the read models has timed out
	end      time.Time         // no portion begins after it
	lacks    error             // of the first URL whose change has no effect; nil: no such URL
}

// mayGoOn returns an error if the caller may no longer make the call, or if that cannot be checked.
// It is called before each portion and after the last portion. The changes made so far remain. If
// the caller may no longer make the call, the error says how many URLs are changed.
func (o *operation) mayGoOn() error {
	err := permit.CheckNow(o.c.Context())
	_, refused := apierror.Refusal(err)
	switch {
	case err == nil:
		return nil
	case !refused && o.over():
		return errTooLong
	case !refused:
		return err
	}
	o.changes.cfg.Waiter.AwaitWrite(o.c, o.written)
	return cutOff(err, o.changed)
}

// cutOff returns the refusal of a call whose caller has lost its rights during the call. The
// refusal says how many URLs the call has changed.
func cutOff(refused error, changed int) error {
	failure, _ := apierror.Refusal(refused)
	return &apierror.Error{Code: failure.Code, Details: fmt.Sprintf(
		"%s; it has changed %s", failure.Details, apierror.Count(int64(changed), "URL"),
	)}
}

// changed returns how many URLs commands have changed.
func changed(outcomes []linkwrite.Outcome) (n int) {
	for _, outcome := range outcomes {
		if outcome.Err == nil && outcome.Changed {
			n++
		}
	}
	return n
}

// begin starts an operation once no other operation of the account runs on this node. If it returns
// no error, the caller MUST call end.
func (b *Changes) begin(c *request.Context) (o *operation, end func(), err error) {
	over := time.Now().Add(b.cfg.Timeout)
	cancel := c.Extend(b.cfg.Timeout + lastPortion)
	waits, stop := context.WithDeadline(c.Context(), over)
	next, err := b.queues.Acquire(waits, c.Account.ID, c.Disconnected)
	stop()
	if err != nil {
		cancel()
		return nil, nil, err
	}
	o = &operation{changes: b, c: c, end: over}
	if o.over() {
		next()
		cancel()
		return nil, nil, errTooMany
	}
	return o, func() { next(); cancel() }, nil
}

// errTooLong is the error of a call whose time is over before it has changed all of its URLs.
var errTooLong = apierror.TooMany(
	"The change takes longer than one call may: repeat the call for the rest", time.Second,
)

// portionTimeout bounds the time for the changes of one portion. It is also the time that an
// ordinary call has, so a portion that takes longer means an outage, and the operation ends.
const portionTimeout = 10 * time.Second

// lastPortion is the time that a call has beyond Config.Timeout. A portion that begins just before
// Config.Timeout is over has this much time: for its changes, and for the waits until the read
// models show the changes.
const lastPortion = 3 * portionTimeout

// run makes the changes of a portion.
func (o *operation) run(
	change func(context.Context) []linkwrite.Outcome,
) []linkwrite.Outcome {
	ctx, cancel := context.WithTimeout(o.c.Context(), portionTimeout)
	defer cancel()
	return change(ctx)
}

// over reports whether there is no time for another portion.
func (o *operation) over() bool { return time.Now().After(o.end) }

// addOutcomes records the outcomes of a portion. If an outcome has an error that is not a refusal,
// it returns the first such error. Otherwise it waits until the read models show the portion, so
// that a write of another account never waits for more than one portion. Once such a wait has timed
// out, addOutcomes no longer waits for later portions, and awaitEnd waits for all of them.
func (o *operation) addOutcomes(outcomes []linkwrite.Outcome) error {
	if err := write.FirstFault(outcomes); err != nil {
		return err
	}
	w := write.PositionsOf(commands.URLsOutcome{Items: outcomes})
	o.written.URLs = max(o.written.URLs, w.URLs)
	o.changed += changed(outcomes)
	o.lacks = cmp.Or(o.lacks, write.FirstLacking(outcomes))
	if w.URLs == 0 {
		return nil
	}
	if !o.timedOut {
		o.timedOut = !o.changes.cfg.Waiter.AwaitLinks(o.c, w.URLs)
	}
	if err := write.CheckEffects(o.c, o.changes.cfg.Waiter, outcomes); err != nil {
		return err
	}
	o.lacks = cmp.Or(o.lacks, write.FirstLacking(outcomes))
	return nil
}

// awaitEnd waits until the read models show what the operation has written. It returns the error of
// the first URL whose change has no effect, or nil if all changes have effect.
func (o *operation) awaitEnd() error {
	o.changes.cfg.Waiter.AwaitWrite(o.c, o.written)
	return o.lacks
}

// Tagged waits until the operation may begin, and then runs a command on all URLs that match a tag
// expression. If it returns an error, it may have changed some of the URLs, for example before the
// caller lost its rights. The client can repeat the call to change the rest.
func (b *Changes) Tagged(c *request.Context, expression *tagexpr.Expr, do Change) error {
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return err
	}
	op, end, err := b.begin(c)
	if err != nil {
		return err
	}
	defer end()
	if expression.DependsOnClicks() {
		b.cfg.Waiter.AwaitClicks(c, catchup.Links)
	}
	tagged, err := b.cfg.Lists.Select(c.Context(), c.Owner(), expression)
	if err != nil {
		return apierror.Unavailable(err)
	}
	for {
		if err := op.mayGoOn(); err != nil {
			return err
		}
		over := op.over()
		ids, err := tagged.Next(c.Context(), portion)
		if over && (err != nil || len(ids) > 0) {
			return errTooLong
		}
		if err != nil {
			return apierror.Unavailable(err)
		}
		if len(ids) == 0 {
			return op.awaitEnd()
		}
		refs := make([]linkwrite.Ref, len(ids))
		for i, id := range ids {
			refs[i].ID = id.String()
		}
		outcomes := op.run(func(ctx context.Context) []linkwrite.Outcome {
			return do(ctx, r, refs)
		})
		if err := op.addOutcomes(outcomes); err != nil {
			return err
		}
	}
}

// Operations returns how many operations of an account run or wait on this node.
func (b *Changes) Operations(account uuid.UUID) int { return b.queues.Length(account) }
