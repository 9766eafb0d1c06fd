// Package urls handles calls that create, list, read, edit, delete and restore URLs.
package urls

import (
	"log/slog"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/asof"
	"linkledger/httpapi/v3/bulk"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/payload"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Handler handles calls about URLs.
type Handler struct {
	Commands *commands.Handler
	Audit    *audit.Reader
	Queries  *queries.DB
	Lists    *linklist.Reader
	Requests *write.Requests
	Changes  *bulk.Changes
	Records  *record.Builder
	Waiter   *catchup.Waiter
	AsOf     asof.Reader
	Bound    selection.Bound

	Limits payload.Limits
	Pages  selection.PageSizes
	Logger *slog.Logger
}

// urlsResponse is the response of all calls about URLs.
type urlsResponse struct {
	response.Envelope
	URLs []any          `json:"urls"` // as record.Builder makes them, or record.Failed
	Page *response.Page `json:"page,omitempty"`
	Past *asof.Past     `json:"past,omitempty"`
}

// writtenURLs returns the response of a call that wrote URLs, with the record or the error of each
// item. sent returns what the call has sent of an item.
func (h *Handler) writtenURLs(
	c *request.Context, payloads []payload.URL, items []commands.URLOutcome, links []queries.Link,
	sent func(payload.URL) record.Sent,
) urlsResponse {
	resp := urlsResponse{Envelope: response.Succeeded(), URLs: make([]any, len(items))}
	for i, item := range items {
		if item.Err != nil {
			resp.URLs[i] = payloads[i].Failed(
				response.NewItemError(response.Report(c, h.Logger, item.Err)),
			)
			continue
		}
		resp.URLs[i] = h.Records.Written(c, links[i], sent(payloads[i]))
	}
	return resp
}
