package links

// This file lists deleted links.

import (
	"strconv"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/contract"
)

// deletedData is what the list of deleted links shows.
type deletedData struct {
	contract.DeletedURLsAnswer

	Pager pager.Pager
}

func deleted(p *page.Page) error {
	p.Title = "Deleted links"
	query := p.Listed()
	var data deletedData
	query.Set("limit", strconv.Itoa(pager.Size))
	err := p.Get("/v3/deleted", query, &data.DeletedURLsAnswer)
	data.Pager = p.Paged(DeletedPath, nil, data.Page)
	p.Data = data
	return err
}
