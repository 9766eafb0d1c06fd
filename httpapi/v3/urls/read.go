package urls

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"linkledger/commands/access"
	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// orders are the values of order_by.
var orders = map[string]linklist.Order{
	"created": linklist.NewestFirst, "modified": linklist.ModifiedFirst,
	"clicks": linklist.ClicksFirst, "hash": linklist.ByHash,
}

// listQuery reads the parameters of a list.
func (h *Handler) listQuery(c *request.Context) (linklist.Query, error) {
	query, err := decode.Query(c)
	if err != nil {
		return linklist.Query{}, err
	}
	chosen, err := selection.Read(c, query, h.Limits.Items)
	if err != nil {
		return linklist.Query{}, err
	}
	order, reverse := strings.CutPrefix(cmp.Or(query.Get("order_by"), "created"), "-")
	sorting, known := orders[order]
	if !known {
		return linklist.Query{}, apierror.WrongInput(
			"order_by must be created, modified, clicks or hash, with a - before it to reverse, "+
				"not %q", order,
		)
	}
	if sorting == linklist.ClicksFirst {
		if err := apierror.Need(c.Scopes(), access.StatsRead); err != nil {
			return linklist.Query{}, err
		}
	}
	page, err := h.Pages.Read(query)
	if err != nil {
		return linklist.Query{}, err
	}
	at, err := h.AsOf.Time(c, query)
	if err != nil {
		return linklist.Query{}, err
	}
	return linklist.Query{
		At: at, Owner: c.Owner(),
		Hashes: chosen.Hashes, Search: query.Get("search"), Tags: chosen.Tags,
		Order: sorting, Reverse: reverse, Offset: page.Offset, Limit: page.Limit,
	}, nil
}

// deepOffset is the lowest offset for which a list waits for its turn, as a search does. Such a
// list takes long because the database reads all URLs before the page.
const deepOffset = 1000

// List returns a page of the URLs that the parameters select.
func (h *Handler) List(c *request.Context) (any, error) {
	list, err := h.listQuery(c)
	if err != nil {
		return nil, err
	}
	h.awaitClicksUntil(c, list.At)
	if list.Search != "" || !list.At.IsZero() || list.Offset >= deepOffset {
		began := time.Now()
		end, err := h.Searches.Acquire(c.Context(), c.Account.ID, c.Disconnected)
		if err != nil {
			return nil, err
		}
		defer end()
		queries.Spent(c.Context(), time.Since(began))
	}
	found, err := h.Lists.Links(c.Context(), list)
	if errors.Is(err, linklist.ErrNoPast) {
		return nil, apierror.WrongInput(
			"With at, URLs can be neither ordered by clicks nor chosen by visited",
		)
	}
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := urlsAnswer{
		Envelope: response.Succeeded(), URLs: make([]any, len(found.Links)),
		Page: &contract.Page{
			ResultsCount: len(found.Links), TotalCount: found.Total, Offset: list.Offset,
		},
		Past: asof.PastOf(list.At),
	}
	for i, link := range found.Links {
		resp.URLs[i] = h.Records.Of(c, link)
	}
	return resp, nil
}

// Read returns the URL that the path names, now or as of a time.
func (h *Handler) Read(c *request.Context) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	at, err := h.AsOf.Time(c, query)
	if err != nil {
		return nil, err
	}
	h.awaitClicksUntil(c, at)
	var link queries.Link
	switch {
	case at.IsZero():
		link, err = h.present(c, hash)
	case c.Bound != nil:
		link, err = h.visible(c, hash, at)
	default:
		link, err = h.Queries.LinkAt(c.Context(), c.Account.ID, hash, at)
		if errors.Is(err, queries.ErrNotFound) {
			return nil, h.gone(c, hash, at)
		}
	}
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	return urlsAnswer{
		Envelope: response.Succeeded(), URLs: []any{h.Records.Of(c, link)},
		Page: &contract.Page{ResultsCount: 1, TotalCount: 1}, Past: asof.PastOf(at),
	}, nil
}

// present returns the URL that has a hash now, if the caller sees it. It asks the log if the read
// models are behind or lack the URL. For a key that is bound to tags it asks only the read models,
// because only they know which changes of tags are set aside as dead letters.
func (h *Handler) present(c *request.Context, hash string) (queries.Link, error) {
	behind := h.Waiter.LinksBehind()
	if c.Bound != nil {
		link, err := h.visible(c, hash, time.Time{})
		if behind && errors.Is(err, queries.ErrNotFound) {
			return link, apierror.Late("The read models are behind: repeat the call later")
		}
		return link, err
	}
	if !behind {
		link, err := h.Queries.LinkByHash(c.Context(), c.Account.ID, hash)
		if !errors.Is(err, queries.ErrNotFound) {
			return link, err
		}
	}
	found, err := h.Commands.FindURL(
		c.Context(), domain.Request{Account: c.Account.ID.String()}, hash,
	)
	if apierror.RefusedAs(err, domain.URLNotFound) {
		return queries.Link{}, queries.ErrNotFound
	}
	if err != nil {
		return queries.Link{}, err
	}
	return h.Records.WithClicks(c, []linkwrite.Outcome{found})[0], nil
}

// visible returns the URL that had a hash at a time, if the key of the call, which is bound to
// tags, sees the URL. The zero time means now.
func (h *Handler) visible(c *request.Context, hash string, at time.Time) (queries.Link, error) {
	found, err := h.Lists.Links(c.Context(), linklist.Query{
		Owner: c.Owner(), At: at, Hashes: []string{hash}, Limit: 1,
	})
	if err == nil && len(found.Links) == 0 {
		err = queries.ErrNotFound
	}
	if err != nil {
		return queries.Link{}, err
	}
	return found.Links[0], nil
}

// awaitClicksUntil waits until the read models show the clicks of this node, if a response about
// the time at counts them: if at is zero, which means now, or if the UTC day of at has not ended.
// It does not wait for a caller who may not see clicks.
func (h *Handler) awaitClicksUntil(c *request.Context, at time.Time) {
	if !c.Scopes().Have(access.StatsRead) {
		return
	}
	if at.IsZero() || asof.ClicksUntil(at).After(h.AsOf.Now()) {
		h.Waiter.AwaitClicks(c, catchup.Links)
	}
}

// gone returns the refusal for a hash that had no URL at a time. The details of the refusal say why
// there was no URL. Only the log knows the reason, so without the log the refusal has no details.
func (h *Handler) gone(c *request.Context, hash string, at time.Time) error {
	_, err := h.Audit.LinkAsOf(
		c.Context(), audit.AsOfQuery{Hash: hash, Time: at, Account: c.Account.ID.String()},
	)
	if apierror.RefusedAs(err, domain.URLNotFound) {
		return err
	}
	return queries.ErrNotFound // the read model says so, even if the log is unavailable
}
