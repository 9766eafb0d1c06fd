package urls

import (
	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// Deleted returns a page of the URLs of the account that are deleted, the latest first.
func (h *Handler) Deleted(c *request.Context) (any, error) {
	page, err := h.Pages.Of(c)
	if err != nil {
		return nil, err
	}
	found, total, err := h.Queries.DeletedLinks(
		c.Context(), c.Account.ID, page.Offset, page.Limit,
	)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.DeletedURLsAnswer{
		Envelope: response.Succeeded(), Deleted: make([]contract.DeletedURL, len(found)),
		Page: contract.Page{ResultsCount: len(found), TotalCount: total, Offset: page.Offset},
	}
	for i, link := range found {
		resp.Deleted[i] = contract.DeletedURL{
			Hash: link.Hash, LongURL: link.LongURL, Note: link.Note,
			Tags:      append([]string{}, link.Tags...),
			CreatedAt: response.Time(link.CreatedAt),
			DeletedAt: response.Time(link.DeletedAt), Restorable: link.Restorable,
		}
		if c.Scopes().Have(access.StatsRead) {
			resp.Deleted[i].TotalClicks = &link.TotalClicks
		}
	}
	return resp, nil
}
