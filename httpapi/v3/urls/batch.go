package urls

import (
	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
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
	batch, err := uuid.Parse(c.Param("id"))
	if err != nil {
		return nil, apierror.WrongInput("The id of a batch is a UUID, not %q", c.Param("id"))
	}
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	page, err := h.Pages.Read(query)
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
