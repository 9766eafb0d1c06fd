package httpapi

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"time"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// urlHandler answers calls about URLs.
type urlHandler struct {
	Commands *commands.Handler
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *writeRequests
	Changes  *changes
	Records  *records
	Waiter   *waiter
	AsOf     asOfReader

	Limits payloadLimits
	Pages  pageSizes
	Logger *slog.Logger
}

// urlsAnswer answers all calls about URLs.
type urlsAnswer struct {
	envelope
	URLs []any `json:"urls"` // record or failedItem
	Page *page `json:"page,omitempty"`
	Past *past `json:"past,omitempty"`
}

// orders are the values of order_by.
var orders = map[string]linklist.Order{
	"created": linklist.NewestFirst, "modified": linklist.ModifiedFirst, "clicks": linklist.ClicksFirst, "hash": linklist.ByHash,
}

// list reads the parameters of a list.
func (h *urlHandler) list(c *exchange) (linklist.Query, error) {
	query, err := parameters(c)
	if err != nil {
		return linklist.Query{}, err
	}
	chosen, err := readSelection(query, h.Limits.Items)
	if err != nil {
		return linklist.Query{}, err
	}
	order, reverse := strings.CutPrefix(cmp.Or(query.Get("order_by"), "created"), "-")
	sorting, known := orders[order]
	if !known {
		return linklist.Query{}, wrongInput("order_by must be created, modified, clicks or hash, with a - before it to reverse, not %q", order)
	}
	list, err := h.Pages.page(query)
	if err != nil {
		return linklist.Query{}, err
	}
	at, err := h.AsOf.moment(c, query)
	if err != nil {
		return linklist.Query{}, err
	}
	return linklist.Query{
		At: at, Account: c.account.ID, Hashes: chosen.hashes, Search: query.Get("search"), Tags: chosen.tags,
		Order: sorting, Reverse: reverse, Offset: list.Offset, Limit: list.Limit,
	}, nil
}

func (h *urlHandler) listURLs(c *exchange) (any, error) {
	list, err := h.list(c)
	if err != nil {
		return nil, err
	}
	h.awaitClicksUntil(c, list.At)
	found, err := h.Lists.Links(c.context(), list)
	if errors.Is(err, linklist.ErrNoPast) {
		return nil, wrongInput("With at, URLs can be neither ordered by clicks nor chosen by visited")
	}
	if err != nil {
		return nil, answered(err)
	}
	answer := urlsAnswer{
		envelope: succeeded(), URLs: make([]any, len(found.Links)),
		Page: &page{ResultsCount: len(found.Links), TotalCount: found.Total, Offset: list.Offset},
		Past: pastOf(list.At),
	}
	for i, link := range found.Links {
		answer.URLs[i] = h.Records.of(c, link)
	}
	return answer, nil
}

func (h *urlHandler) readURL(c *exchange) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	query, err := parameters(c)
	if err != nil {
		return nil, err
	}
	at, err := h.AsOf.moment(c, query)
	if err != nil {
		return nil, err
	}
	h.awaitClicksUntil(c, at)
	var link queries.Link
	if at.IsZero() {
		link, err = h.Queries.LinkByHash(c.context(), c.account.ID, hash)
	} else {
		link, err = h.Queries.LinkAt(c.context(), c.account.ID, hash, at)
		if errors.Is(err, queries.ErrNotFound) {
			return nil, h.gone(c, hash, at)
		}
	}
	if err != nil {
		return nil, answered(err)
	}
	return urlsAnswer{
		envelope: succeeded(), URLs: []any{h.Records.of(c, link)}, Page: &page{ResultsCount: 1, TotalCount: 1}, Past: pastOf(at),
	}, nil
}

// awaitClicksUntil waits for the clicks of this node where those of a moment may be among them; zero: now.
func (h *urlHandler) awaitClicksUntil(c *exchange, at time.Time) {
	if at.IsZero() || clicksUntil(at).After(h.AsOf.Now()) {
		h.Waiter.awaitClicks(c, projectionLinks)
	}
}

// gone is the refusal for a hash under which no URL lived at a moment. Where it had gone the log knows alone.
func (h *urlHandler) gone(c *exchange, hash string, at time.Time) error {
	_, err := h.Commands.URLAt(c.context(), commands.AtQuery{Hash: hash, Time: at, Account: c.account.ID.String()})
	if refusedAs(err, domain.URLNotFound) {
		return err
	}
	return queries.ErrNotFound // which is so also where the log can't be asked
}
