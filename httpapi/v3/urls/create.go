package urls

import (
	"linkledger/commands"
	"linkledger/commands/access"
	"linkledger/commands/linkwrite"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
)

// Create creates URLs. Each item succeeds or fails on its own.
func (h *Handler) Create(c *request.Context) (any, error) {
	unique, err := uniqueLongURLs(c)
	if err != nil {
		return nil, err
	}
	if unique { // the response may show any URL of the account that existed before the call
		if err := apierror.Need(c.Scopes(), access.LinksRead); err != nil {
			return nil, err
		}
		if c.Bound != nil {
			return nil, apierror.ErrBound
		}
	}
	payloads, err := h.Limits.URLs(c)
	if err != nil {
		return nil, err
	}
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	items := make([]commands.CreateURL, len(payloads))
	for i, p := range payloads {
		items[i] = p.Create()
		items[i].Unique = unique
	}
	if unique {
		if err := h.addKnown(c, items); err != nil {
			return nil, err
		}
	}
	outcome := h.Commands.CreateURLs(c.Context(), r, items)
	for i, p := range payloads {
		if p.LongURL == nil { // the command has refused the empty URL
			outcome.Items[i] = linkwrite.Outcome{
				Err: &apierror.Error{
					Code: apierror.CodeMissingInput, Details: "long_url is missing",
				},
			}
		}
	}
	if err := write.Outage(outcome.Items); err != nil {
		return nil, err
	}
	if err := h.awaitEffects(c, outcome, payloads, payload.URL.Created); err != nil {
		return nil, err
	}
	links := make([]queries.Link, len(outcome.Items))
	if r.Repeated || unique { // the links may be older than this call and have clicks
		links = h.Records.WithClicks(c, outcome.Items)
	} else {
		for i, item := range outcome.Items {
			links[i] = record.LinkOf(item)
		}
	}
	return h.writtenURLs(c, payloads, outcome.Items, links, payload.URL.Created), nil
}

// uniqueLongURLs reports whether a call asks for the existing links to its long URLs, and for new
// links only if there are none.
func uniqueLongURLs(c *request.Context) (bool, error) {
	query, err := decode.Query(c)
	if err != nil {
		return false, err
	}
	switch value := query.Get("disable_long_url_duplicates"); value {
	case "", "0", "false":
		return false, nil
	case "1", "true", "account":
		return true, nil
	default:
		return false, apierror.WrongInput(
			"disable_long_url_duplicates must be 1, true, account, 0 or false, not %q", value,
		)
	}
}

// addKnown adds to each item the ids of existing links with the same long URL. The command checks
// these links, because the read model may lag behind.
func (h *Handler) addKnown(c *request.Context, items []commands.CreateURL) error {
	longURLs := make([]string, len(items))
	for i, item := range items {
		longURLs[i] = item.LongURL
	}
	known, err := h.Queries.LinksByLongURL(c.Context(), c.Account.ID, longURLs)
	if err != nil {
		return apierror.Unavailable(err)
	}
	for i, item := range items {
		for _, id := range known[item.LongURL] {
			items[i].Known = append(items[i].Known, id.String())
		}
	}
	return nil
}
