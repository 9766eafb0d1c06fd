// Package urls handles calls that create, list, read, edit, delete and restore URLs.
package urls

import (
	"log/slog"
	"slices"
	"time"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/bulk"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/turn"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Handler handles calls about URLs.
type Handler struct {
	Commands *commands.Handler
	Audit    *audit.Reader
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *write.Requests
	Changes  *bulk.Changes
	Records  *record.Builder
	Waiter   *catchup.Waiter
	AsOf     asof.Reader
	Bound    selection.Bound
	Searches *turn.Queues // from NewSearches

	Limits payload.Limits
	Pages  selection.PageSizes
	Logger *slog.Logger
}

// NewSearches returns queues for lists that may take the database long: those with a search, of a
// past time, or of a page far from the beginning. The queues keep the lists of one account from
// using many database connections.
func NewSearches() *turn.Queues {
	const atOnce, waiting = 2, 32
	return turn.New(atOnce, waiting, apierror.TooMany(
		"Too many searches of the account run or wait, repeat the call", 5*time.Second,
	))
}

// urlsAnswer is the response of all calls about URLs. Each URL in it is a record of record.Builder,
// or a contract.FailedURL.
type urlsAnswer = contract.URLsAnswer[any]

// awaitEffects waits until the read models show what a call has written. An item whose change has
// no effect gets an error. If no item succeeds, and some items failed because their change has no
// effect, awaitEffects returns the error of the first such item, so that the whole call fails.
func (h *Handler) awaitEffects(
	c *request.Context, outcome commands.URLsOutcome, payloads []payload.URL,
	sent func(payload.URL) record.Sent,
) error {
	h.Waiter.AwaitWrite(c, write.PositionsOf(outcome))
	err := write.CheckLabelled(c, h.Waiter, h.Queries, outcome, func(i int) []string {
		return sent(payloads[i]).Tags
	})
	if err != nil || slices.ContainsFunc(
		outcome.Items, func(o linkwrite.Outcome) bool { return o.Err == nil },
	) {
		return err
	}
	return write.FirstLacking(outcome.Items)
}

// writtenURLs returns the response of a call that wrote URLs, with the record or the error of each
// item. sent returns what the call has sent of an item.
func (h *Handler) writtenURLs(
	c *request.Context, payloads []payload.URL, items []linkwrite.Outcome, links []queries.Link,
	sent func(payload.URL) record.Sent,
) urlsAnswer {
	resp := urlsAnswer{Envelope: response.Succeeded(), URLs: make([]any, len(items))}
	for i, item := range items {
		if item.Err != nil {
			resp.URLs[i] = payloads[i].Failed(
				response.NewItemError(response.Report(c, h.Logger, item.Err)),
			)
			continue
		}
		resp.URLs[i] = h.Records.Written(c, links[i], sent(payloads[i]))
	}
	return resp
}
