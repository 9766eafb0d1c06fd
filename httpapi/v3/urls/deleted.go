package urls

import (
	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
)

// deletedRecord is a URL that was deleted, as it was then.
type deletedRecord struct {
	Hash        string             `json:"hash"`
	LongURL     string             `json:"long_url"`
	Note        string             `json:"note"`
	Tags        []string           `json:"tags"`
	TotalClicks *int64             `json:"total_clicks,omitempty"` // nil: without stats:read
	CreatedAt   response.Timestamp `json:"created_at"`
	DeletedAt   response.Timestamp `json:"deleted_at"`
	Restorable  bool               `json:"restorable"` // a restoration of the hash brings it back
}

type deletedResponse struct {
	response.Envelope
	Deleted []deletedRecord `json:"deleted"`
	Page    response.Page   `json:"page"`
}

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
	resp := deletedResponse{
		Envelope: response.Succeeded(), Deleted: make([]deletedRecord, len(found)),
		Page: response.Page{ResultsCount: len(found), TotalCount: total, Offset: page.Offset},
	}
	for i, link := range found {
		resp.Deleted[i] = deletedRecord{
			Hash: link.Hash, LongURL: link.LongURL, Note: link.Note,
			Tags:      append([]string{}, link.Tags...),
			CreatedAt: response.Timestamp(link.CreatedAt),
			DeletedAt: response.Timestamp(link.DeletedAt), Restorable: link.Restorable,
		}
		if c.Scopes().Have(access.StatsRead) {
			resp.Deleted[i].TotalClicks = &link.TotalClicks
		}
	}
	return resp, nil
}
