package selection

import (
	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
)

// maxHistoryLinks is the most links of one hash that one call reads.
const maxHistoryLinks = 100

// History returns the page of the history that a call asks for: of the hash in its path, as the
// account of the call may see it.
func History(c *request.Context, sizes PageSizes) (audit.HistoryQuery, error) {
	hash, err := PathHash(c)
	if err != nil {
		return audit.HistoryQuery{}, err
	}
	query, err := decode.Query(c)
	if err != nil {
		return audit.HistoryQuery{}, err
	}
	page, err := sizes.Read(query)
	return audit.HistoryQuery{
		Hash: hash, Account: c.Account.ID.String(), MaxLinks: maxHistoryLinks,
		Offset: page.Offset, Limit: page.Limit,
	}, err
}

// NewestFirst reads the order of the events that a call asks for: order_by is created, as in lists
// of URLs, or -created, which is the default and begins with the oldest one.
func NewestFirst(c *request.Context) (bool, error) {
	query, err := decode.Query(c)
	if err != nil {
		return false, err
	}
	switch order := query.Get("order_by"); order {
	case "created":
		return true, nil
	case "", "-created":
		return false, nil
	default:
		return false, apierror.WrongInput("order_by must be created or -created, not %q", order)
	}
}
