package selection

import (
	"linkledger/commands/audit"
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
