package httpapi

import (
	"errors"
	"net/url"
	"slices"
	"strconv"

	"linkledger/commands"
	"linkledger/queries"
)

// urlsAnswer answers all calls about URLs.
type urlsAnswer struct {
	envelope
	URLs []any `json:"urls"` // record or failedItem
	Page *page `json:"page,omitempty"`
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

func (s *server) listURLs(e *exchange) (any, error) {
	query, err := parameters(e, "search", "hashes", "tags")
	if err != nil {
		return nil, err
	}
	if order := query.Get("order_by"); order != "" && order != "created" {
		return nil, unsupported("order_by=" + order)
	}
	list := listing{Limit: s.cfg.PageSize}
	if err := errors.Join(number(query, "offset", &list.Offset), number(query, "limit", &list.Limit)); err != nil {
		return nil, err
	}
	if err := check(list, ""); err != nil {
		return nil, err
	}
	found, err := s.cfg.Queries.Links(e.context(), queries.ListLinks{
		Account: e.account.ID, Offset: list.Offset, Limit: min(list.Limit, s.cfg.MaxPageSize),
	})
	if err != nil {
		return nil, answered(err)
	}
	answer := urlsAnswer{
		envelope: succeeded(), URLs: make([]any, len(found.Links)),
		Page: &page{ResultsCount: len(found.Links), TotalCount: found.Total, Offset: list.Offset},
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
	link, err := s.cfg.Queries.LinkByHash(e.context(), e.account.ID, hash)
	if err != nil {
		return nil, answered(err)
	}
	return urlsAnswer{
		envelope: succeeded(), URLs: []any{s.record(e, link)}, Page: &page{ResultsCount: 1, TotalCount: 1},
	}, nil
}

func (s *server) createURLs(e *exchange) (any, error) {
	if err := duplicatesAllowed(e); err != nil {
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
	if request.Repeated { // the links may be older than this call
		links = s.counted(e, outcome.Items)
	} else {
		for i, item := range outcome.Items {
			links[i] = linkOf(item)
		}
	}
	answer := urlsAnswer{envelope: succeeded(), URLs: make([]any, len(payloads))}
	for i, item := range outcome.Items {
		if item.Err != nil {
			answer.URLs[i] = payloads[i].failed(s.failureOf(e, item.Err).item())
			continue
		}
		answer.URLs[i] = s.writtenRecord(e, links[i])
	}
	return answer, nil
}

func (s *server) editURL(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	body, err := s.readBody(e)
	if err != nil {
		return nil, err
	}
	items, err := s.urlItems(body)
	if err != nil {
		return nil, err
	}
	if len(items) > 1 {
		return nil, wrongInput("urls must have one item to edit the URL %s, not %d", hash, len(items))
	}
	payloads, err := readURLPayloads(items)
	if err != nil {
		return nil, err
	}
	payload := payloads[0]
	if items[0].isNull("expiration_date") {
		payload.ExpirationDate = new("")
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcome := s.cfg.Commands.EditURL(e.context(), request, hash, payload.edit())
	edited := outcome.Items[0]
	if err := outage(outcome.Items); err != nil || refusedAs(edited.Err, commands.URLNotFound) {
		return nil, edited.Err
	}
	answer := urlsAnswer{envelope: succeeded()}
	if edited.Err != nil {
		item := payload.failed(s.failureOf(e, edited.Err).item())
		item.Hash = hash
		answer.URLs = []any{item}
		return answer, nil
	}
	s.settle(e, positions(outcome))
	answer.URLs = []any{s.writtenRecord(e, s.counted(e, outcome.Items)[0])}
	return answer, nil
}

func (s *server) deleteURL(e *exchange) (any, error) {
	hash, err := pathHash(e)
	if err != nil {
		return nil, err
	}
	request, err := s.writeRequest(e)
	if err != nil {
		return nil, err
	}
	outcome := s.cfg.Commands.DeleteURL(e.context(), request, hash)
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	s.settle(e, written{urls: outcome.Position.Commit})
	return succeeded(), nil
}

// pathHash returns the hash that a path names. Selections by parameters have no place beside it.
func pathHash(e *exchange) (string, error) {
	hash := e.param("hash")
	if !commands.ValidHash(hash) {
		return "", &apiError{code: codeInvalidHash, details: "A hash is 1 to 25 of the characters A-Z a-z 0-9 _ -"}
	}
	query, err := parameters(e)
	if err != nil {
		return "", err
	}
	if query.Get("hashes") != "" || query.Get("tags") != "" {
		return "", wrongInput("The path names one URL already, leave out hashes and tags")
	}
	return hash, nil
}

// parameters returns the parameters of a call. It refuses those that the contract has and this version does not serve:
// ignoring them would answer another question than the one that was asked.
func parameters(e *exchange, unserved ...string) (url.Values, error) {
	query, err := url.ParseQuery(e.request.URL.RawQuery)
	if err != nil {
		return nil, wrongInput("The query string cannot be read, percent-encode its values")
	}
	for _, name := range unserved {
		if query.Get(name) != "" {
			return nil, unsupported(name)
		}
	}
	return query, nil
}

func unsupported(parameter string) error {
	return wrongInput("This version does not support the parameter %s yet", parameter)
}

// duplicatesAllowed refuses calls that want to find existing links for their long URLs.
func duplicatesAllowed(e *exchange) error {
	query, err := parameters(e)
	if err != nil {
		return err
	}
	switch value := query.Get("disable_long_url_duplicates"); value {
	case "", "0", "false":
		return nil
	case "1", "true", "account":
		return unsupported("disable_long_url_duplicates")
	default:
		return wrongInput("disable_long_url_duplicates must be 1, true, account, 0 or false, not %q", value)
	}
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

func refusedAs(err error, kind commands.Kind) bool {
	refused, ok := errors.AsType[*commands.Error](err)
	return ok && refused.Kind == kind
}
