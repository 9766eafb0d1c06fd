package urls

import (
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/selection"
)

// changedRecord is a URL that a call changed, as it is now or was when it was deleted.
type changedRecord struct {
	Hash    string `json:"hash"`
	LongURL string `json:"long_url"`
	Deleted bool   `json:"deleted"`
}

type changedResponse struct {
	response.Envelope
	Changed []changedRecord `json:"changed"`
	Page    response.Page   `json:"page"`
}

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
	resp := changedResponse{
		Envelope: response.Succeeded(), Changed: make([]changedRecord, len(found)),
		Page: response.Page{ResultsCount: len(found), TotalCount: total, Offset: page.Offset},
	}
	for i, link := range found {
		resp.Changed[i] = changedRecord{link.Hash, link.LongURL, link.Deleted}
	}
	return resp, nil
}
