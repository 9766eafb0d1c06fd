package console

import (
	"net/url"
	"strconv"
	"time"

	"linkledger/httpapi/console/page"
)

// deletedRecord is a link as it was when it was deleted.
type deletedRecord struct {
	Hash        string    `json:"hash"`
	LongURL     string    `json:"long_url"`
	Note        string    `json:"note"`
	Tags        []string  `json:"tags"`
	TotalClicks *int64    `json:"total_clicks"` // nil: the caller may not see clicks
	CreatedAt   time.Time `json:"created_at"`
	DeletedAt   time.Time `json:"deleted_at"`
	Restorable  bool      `json:"restorable"`
}

// Path returns the path of the page of the link's hash.
func (d deletedRecord) Path() string { return linksPath + "/" + url.PathEscape(d.Hash) }

// deletedData is what the list of deleted links shows.
type deletedData struct {
	Links []deletedRecord `json:"deleted"`
	Page  page.Part       `json:"page"`
	Pager page.Pager      `json:"-"`
}

func (h *Handler) deleted(p *page.Page) error {
	p.Title = "Deleted links"
	query := p.Listed()
	var data deletedData
	query.Set("limit", strconv.Itoa(page.Size))
	err := p.Get("/v3/deleted", query, &data)
	data.Pager = p.Paged(deletedPath, nil, data.Page)
	p.Data = data
	return err
}
