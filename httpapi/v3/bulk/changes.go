// Package bulk changes any number of URLs in one call: named ones, all that meet a tag expression,
// or those of a batch that is undone. Large changes of one account wait for each other.
package bulk

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/linklist"
	"linkledger/queries/tagexpr"
)

// Change is a command without payload on several URLs.
type Change func(ctx context.Context, r domain.Request, refs []commands.Ref) []commands.URLOutcome

// Config is what bulk changes work with.
type Config struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *write.Requests
	Waiter   *catchup.Waiter

	Timeout   time.Duration // of a change of any number of URLs
	MaxHashes int           // that one call may name
	MaxFailed int           // URLs that the answer of an undone batch names
}

// Changes carries out commands on several URLs. It is safe for concurrent use.
type Changes struct {
	cfg   Config
	turns *turns
}

// New returns changes of which none is under way.
func New(cfg Config) *Changes { return &Changes{cfg: cfg, turns: newTurns()} }

// One carries out a command on the URL that the path names.
func (b *Changes) One(c *request.Context, do Change) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome := do(c.Context(), r, commands.ByHash(hash))[0]
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	b.cfg.Waiter.Settle(c, catchup.Written{URLs: outcome.Position.Commit})
	return response.Succeeded(), nil
}

// All carries out a command on the URLs that the parameters select. What is refused to single ones
// is not told, there is no place for it in the answer.
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
	r, err := b.cfg.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcomes := do(c.Context(), r, commands.ByHash(chosen.Hashes...))
	if err := write.Interrupted(outcomes); err != nil {
		return nil, err
	}
	b.cfg.Waiter.Settle(c, write.Written(commands.URLsOutcome{Items: outcomes}))
	return response.Succeeded(), nil
}

// portion is how many URLs an operation on any number of them changes at a time. The writes of
// others wait for the read models behind it.
const portion = 25

// operation is a change of any number of URLs.
type operation struct {
	b    *Changes
	c    *request.Context
	last catchup.Written // how far the log has to be read to see all of it
	late bool            // the read models were not in time once
}

// begin waits for the turn of an operation of the account. The caller calls end when it is done.
func (b *Changes) begin(c *request.Context) (o *operation, end func(), err error) {
	cancel := c.Extend(b.cfg.Timeout)
	next, err := b.turns.take(c.Context(), c.Account.ID, c.Left)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return &operation{b: b, c: c}, func() { next(); cancel() }, nil
}

// changed takes in the outcomes of a portion, and returns its error or when the read models show
// it: so there is never more of the operation than a portion between the write of another account
// and its answer. Read models that are not in time are waited for at the end alone.
func (o *operation) changed(outcomes []commands.URLOutcome) error {
	if err := write.Interrupted(outcomes); err != nil {
		return err
	}
	w := write.Written(commands.URLsOutcome{Items: outcomes})
	o.last.URLs = max(o.last.URLs, w.URLs)
	if o.late || w.URLs == 0 {
		return nil
	}
	o.late = !o.b.cfg.Waiter.AwaitLinks(o.c, w.URLs)
	return nil
}

// Tagged carries out a command on all URLs that meet an expression when the call arrives. What
// interrupts it leaves the first URLs changed and the others not; the same call again does the
// rest.
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
	if expression.AsksForVisits() {
		b.cfg.Waiter.AwaitClicks(c, catchup.Links)
	}
	tagged, err := b.cfg.Lists.Select(c.Context(), c.Account.ID, expression)
	if err != nil {
		return apierror.Unavailable(err)
	}
	for {
		ids, err := tagged.Next(c.Context(), portion)
		if err != nil {
			return apierror.Unavailable(err)
		}
		if len(ids) == 0 {
			b.cfg.Waiter.Settle(c, op.last)
			return nil
		}
		refs := make([]commands.Ref, len(ids))
		for i, id := range ids {
			refs[i].ID = id.String()
		}
		if err := op.changed(do(c.Context(), r, refs)); err != nil {
			return err
		}
	}
}

// Operations returns how many changes of any number of URLs an account has under way or waiting on
// this node.
func (b *Changes) Operations(account uuid.UUID) int { return b.turns.of(account) }
