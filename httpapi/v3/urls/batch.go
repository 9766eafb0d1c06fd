package urls

import (
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/selection"
)

// ChangedBy returns a page of the URLs that a call changed, in the order of their hashes.
func (h *Handler) ChangedBy(c *request.Context) (any, error) {
	batch, err := selection.PathBatch(c)
	if err != nil {
		return nil, err
	}
	page, err := h.Pages.Of(c)
	if err != nil {
		return nil, err
	}
	found, total, err := h.Queries.BatchPage(
		c.Context(), c.Account.ID, batch, page.Offset, page.Limit,
	)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.ChangedURLsAnswer{
		Envelope: response.Succeeded(), Changed: make([]contract.ChangedURL, len(found)),
		Page: contract.Page{ResultsCount: len(found), TotalCount: total, Offset: page.Offset},
	}
	for i, link := range found {
		resp.Changed[i] = contract.ChangedURL{
			Hash: link.Hash, LongURL: link.LongURL, Deleted: link.Deleted,
		}
	}
	return resp, nil
}
