package httpapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
	"linkledger/queries/tagexpr"
)

// change is a command without payload on several URLs.
type change func(ctx context.Context, r domain.Request, refs []commands.Ref) []commands.URLOutcome

// bulkConfig is what bulk changes work with.
type bulkConfig struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *writeRequests
	Waiter   *waiter

	Timeout   time.Duration // of a change of any number of URLs
	MaxHashes int           // that one call may name
	MaxFailed int           // URLs that the answer of an undone batch names
}

// changes carries out commands on several URLs. It is safe for concurrent use.
type changes struct {
	cfg   bulkConfig
	turns *turns
}

// newChanges returns changes of which none is under way.
func newChanges(cfg bulkConfig) *changes { return &changes{cfg: cfg, turns: newTurns()} }

// changeOne carries out a command on the URL that the path names.
func (b *changes) changeOne(c *exchange, do change) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	r, err := b.cfg.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	outcome := do(c.context(), r, commands.ByHash(hash))[0]
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	b.cfg.Waiter.settle(c, written{urls: outcome.Position.Commit})
	return succeeded(), nil
}

// changeAll carries out a command on the URLs that the parameters select. What is refused to single ones is not told,
// there is no place for it in the answer.
func (b *changes) changeAll(c *exchange, do change) (any, error) {
	chosen, err := chosenURLs(c, b.cfg.MaxHashes)
	if err != nil {
		return nil, err
	}
	if chosen.hashes == nil && chosen.tags == nil {
		return nil, &apiError{code: codeMissingInput, details: "Say which URLs are meant, with the parameter hashes or tags"}
	}
	if chosen.tags != nil {
		if err := b.changeTagged(c, chosen.tags, do); err != nil {
			return nil, err
		}
		return succeeded(), nil
	}
	r, err := b.cfg.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	outcomes := do(c.context(), r, commands.ByHash(chosen.hashes...))
	if err := interrupted(outcomes); err != nil {
		return nil, err
	}
	b.cfg.Waiter.settle(c, positions(commands.URLsOutcome{Items: outcomes}))
	return succeeded(), nil
}

// portion is how many URLs an operation on any number of them changes at a time. The writes of others wait for the read
// models behind it.
const portion = 25

// operation is a change of any number of URLs.
type operation struct {
	b    *changes
	c    *exchange
	last written // how far the log has to be read to see all of it
	late bool    // the read models were not in time once
}

// begin waits for the turn of an operation of the account. The caller calls end when it is done.
func (b *changes) begin(c *exchange) (o *operation, end func(), err error) {
	cancel := c.extend(b.cfg.Timeout)
	next, err := b.turns.take(c.context(), c.account.ID, c.left)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return &operation{b: b, c: c}, func() { next(); cancel() }, nil
}

// changed takes in the outcomes of a portion, and returns its error or when the read models show it: so there is never more of
// the operation than a portion between the write of another account and its answer. Read models that are not in time are
// waited for at the end alone.
func (o *operation) changed(outcomes []commands.URLOutcome) error {
	if err := interrupted(outcomes); err != nil {
		return err
	}
	w := positions(commands.URLsOutcome{Items: outcomes})
	o.last.urls = max(o.last.urls, w.urls)
	if o.late || w.urls == 0 {
		return nil
	}
	o.late = !o.b.cfg.Waiter.awaitLinks(o.c, w.urls)
	return nil
}

// changeTagged carries out a command on all URLs that meet an expression when the call arrives. What interrupts it
// leaves the first URLs changed and the others not; the same call again does the rest.
func (b *changes) changeTagged(c *exchange, expression *tagexpr.Expr, do change) error {
	r, err := b.cfg.Requests.begin(c)
	if err != nil {
		return err
	}
	op, end, err := b.begin(c)
	if err != nil {
		return err
	}
	defer end()
	if expression.AsksForVisits() {
		b.cfg.Waiter.awaitClicks(c, projectionLinks)
	}
	tagged, err := b.cfg.Lists.Select(c.context(), c.account.ID, expression)
	if err != nil {
		return answered(err)
	}
	for {
		ids, err := tagged.Next(c.context(), portion)
		if err != nil {
			return answered(err)
		}
		if len(ids) == 0 {
			b.cfg.Waiter.settle(c, op.last)
			return nil
		}
		refs := make([]commands.Ref, len(ids))
		for i, id := range ids {
			refs[i].ID = id.String()
		}
		if err := op.changed(do(c.context(), r, refs)); err != nil {
			return err
		}
	}
}

// operations returns how many changes of any number of URLs an account has under way or waiting on this node.
func (b *changes) operations(account uuid.UUID) int { return b.turns.of(account) }
