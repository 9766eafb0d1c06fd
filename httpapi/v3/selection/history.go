package selection

import (
	"linkledger/commands/audit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
)

// maxHistoryLinks is the most links whose events one call reads. Several links may have had the
// same hash, one after another.
const maxHistoryLinks = 100

// History returns which part of a history a call asks for. The history is that of the hash in the
// path, as far as the calling account may see it.
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

// NewestFirst reads the parameter order_by of a history. It returns true for created, which means
// the newest event first, as in lists of URLs. It returns false for -created, which means the
// oldest event first and is the default.
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
