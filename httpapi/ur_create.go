package httpapi

import (
	"linkledger/commands"
	"linkledger/queries"
)

func (h *urlHandler) createURLs(c *exchange) (any, error) {
	unique, err := uniqueLongURLs(c)
	if err != nil {
		return nil, err
	}
	payloads, err := h.Limits.create(c)
	if err != nil {
		return nil, err
	}
	r, err := h.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	items := make([]commands.CreateURL, len(payloads))
	for i, p := range payloads {
		items[i] = p.create()
		items[i].Unique = unique
	}
	if unique {
		if err := h.addKnown(c, items); err != nil {
			return nil, err
		}
	}
	outcome := h.Commands.CreateURLs(c.context(), r, items)
	for i, p := range payloads {
		if p.LongURL == nil { // refused by the command for its length
			outcome.Items[i] = commands.URLOutcome{Err: &apiError{code: codeMissingInput, details: "long_url is missing"}}
		}
	}
	if err := outage(outcome.Items); err != nil {
		return nil, err
	}
	h.Waiter.settle(c, positions(outcome))
	links := make([]queries.Link, len(outcome.Items))
	if r.Repeated || unique { // the links may be older than this call
		links = h.Records.counted(c, outcome.Items)
	} else {
		for i, item := range outcome.Items {
			links[i] = linkOf(item)
		}
	}
	return h.writtenURLs(c, payloads, outcome.Items, links), nil
}

// uniqueLongURLs tells whether a call wants the existing links to its long URLs, where there are some.
func uniqueLongURLs(c *exchange) (bool, error) {
	query, err := parameters(c)
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
func (h *urlHandler) addKnown(c *exchange, items []commands.CreateURL) error {
	longURLs := make([]string, len(items))
	for i, item := range items {
		longURLs[i] = item.LongURL
	}
	known, err := h.Queries.LinksByLongURL(c.context(), c.account.ID, longURLs)
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
