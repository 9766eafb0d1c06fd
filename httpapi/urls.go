package httpapi

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// urlsAnswer answers all calls about URLs.
type urlsAnswer struct {
	envelope
	URLs []any `json:"urls"` // record or failedItem
	Page *page `json:"page,omitempty"`
	Past *past `json:"past,omitempty"`
}

type page struct {
	ResultsCount int   `json:"results_count"`
	TotalCount   int64 `json:"total_count"`
	Offset       int   `json:"offset"`
}

// listing are the parameters of a list.
type listing struct {
	Offset int `name:"offset" validate:"min=0"`
	Limit  int `name:"limit" validate:"min=1"`
}

// orders are the values of order_by.
var orders = map[string]linklist.Order{
	"created": linklist.NewestFirst, "modified": linklist.ModifiedFirst, "clicks": linklist.ClicksFirst, "hash": linklist.ByHash,
}

// list reads the parameters of a list.
func (s *server) list(e *exchange) (linklist.Query, error) {
	query, err := parameters(e)
	if err != nil {
		return linklist.Query{}, err
	}
	chosen, err := s.selection(query)
	if err != nil {
		return linklist.Query{}, err
	}
	order, reverse := strings.CutPrefix(cmp.Or(query.Get("order_by"), "created"), "-")
	sorting, known := orders[order]
	if !known {
		return linklist.Query{}, wrongInput("order_by must be created, modified, clicks or hash, with a - before it to reverse, not %q", order)
	}
	list := listing{Limit: s.cfg.PageSize}
	if err := errors.Join(number(query, "offset", &list.Offset), number(query, "limit", &list.Limit)); err != nil {
		return linklist.Query{}, err
	}
	if err := check(list, ""); err != nil {
		return linklist.Query{}, err
	}
	at, err := s.moment(e, query)
	if err != nil {
		return linklist.Query{}, err
	}
	return linklist.Query{
		At: at, Account: e.account.ID, Hashes: chosen.hashes, Search: query.Get("search"), Tags: chosen.tags,
		Order: sorting, Reverse: reverse, Offset: list.Offset, Limit: min(list.Limit, s.cfg.MaxPageSize),
	}, nil
}

func (s *server) listURLs(e *exchange) (any, error) {
	list, err := s.list(e)
	if err != nil {
		return nil, err
	}
	s.awaitClicksUntil(e, list.At)
	found, err := s.cfg.Lists.Links(e.context(), list)
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
		answer.URLs[i] = s.record(e, link)
	}
	return answer, nil
}

func (s *server) readURL(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	query, err := parameters(e)
	if err != nil {
		return nil, err
	}
	at, err := s.moment(e, query)
	if err != nil {
		return nil, err
	}
	s.awaitClicksUntil(e, at)
	var link queries.Link
	if at.IsZero() {
		link, err = s.cfg.Queries.LinkByHash(e.context(), e.account.ID, hash)
	} else {
		link, err = s.cfg.Queries.LinkAt(e.context(), e.account.ID, hash, at)
		if errors.Is(err, queries.ErrNotFound) {
			return nil, s.gone(e, hash, at)
		}
	}
	if err != nil {
		return nil, answered(err)
	}
	return urlsAnswer{
		envelope: succeeded(), URLs: []any{s.record(e, link)}, Page: &page{ResultsCount: 1, TotalCount: 1}, Past: pastOf(at),
	}, nil
}

func (s *server) createURLs(e *exchange) (any, error) {
	unique, err := uniqueLongURLs(e)
	if err != nil {
		return nil, err
	}
	payloads, err := s.urlPayloads(e)
	if err != nil {
		return nil, err
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	items := make([]commands.CreateURL, len(payloads))
	for i, p := range payloads {
		items[i] = p.create()
		items[i].Unique = unique
	}
	if unique {
		if err := s.addKnown(e, items); err != nil {
			return nil, err
		}
	}
	outcome := s.cfg.Commands.CreateURLs(e.context(), request, items)
	for i, p := range payloads {
		if p.LongURL == nil { // refused by the command for its length
			outcome.Items[i] = commands.URLOutcome{Err: &apiError{code: codeMissingInput, details: "long_url is missing"}}
		}
	}
	if err := outage(outcome.Items); err != nil {
		return nil, err
	}
	s.settle(e, positions(outcome))
	links := make([]queries.Link, len(outcome.Items))
	if request.Repeated || unique { // the links may be older than this call
		links = s.counted(e, outcome.Items)
	} else {
		for i, item := range outcome.Items {
			links[i] = linkOf(item)
		}
	}
	return s.writtenURLs(e, payloads, outcome.Items, links), nil
}

// uniqueLongURLs tells whether a call wants the existing links to its long URLs, where there are some.
func uniqueLongURLs(e *exchange) (bool, error) {
	query, err := parameters(e)
	if err != nil {
		return false, err
	}
	switch value := query.Get("disable_long_url_duplicates"); value {
	case "", "0", "false":
		return false, nil
	case "1", "true", "account":
		return true, nil
	default:
		return false, wrongInput("disable_long_url_duplicates must be 1, true, account, 0 or false, not %q", value)
	}
}

// addKnown tells the command which links may be the ones that the items ask for.
func (s *server) addKnown(e *exchange, items []commands.CreateURL) error {
	longURLs := make([]string, len(items))
	for i, item := range items {
		longURLs[i] = item.LongURL
	}
	known, err := s.cfg.Queries.LinksByLongURL(e.context(), e.account.ID, longURLs)
	if err != nil {
		return answered(err)
	}
	for i, item := range items {
		for _, id := range known[item.LongURL] {
			items[i].Known = append(items[i].Known, id.String())
		}
	}
	return nil
}

// number reads a parameter that is a number. One that is larger than any list is as good as the largest.
func number(query url.Values, name string, into *int) error {
	text := query.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return wrongInput("%s must be a number, not %q", name, text)
	}
	*into = n
	return nil
}

// positions returns how far a batch got.
func positions(outcome commands.URLsOutcome) written {
	w := written{tags: outcome.Tags.Commit}
	for _, item := range outcome.Items {
		w.urls = max(w.urls, item.Position.Commit)
	}
	return w
}

// outage returns why a batch could not be carried out, when that and nothing else was the matter: something failed that
// was not refused, and nothing succeeded. Repeating the call is what its client has to do then.
func outage(items []commands.URLOutcome) error {
	if slices.ContainsFunc(items, func(o commands.URLOutcome) bool { return o.Err == nil }) {
		return nil
	}
	for _, item := range items {
		if _, refused := refusal(item.Err); !refused {
			return item.Err
		}
	}
	return nil
}

func refusedAs(err error, kind domain.Kind) bool {
	refused, ok := errors.AsType[*domain.Error](err)
	return ok && refused.Kind == kind
}
