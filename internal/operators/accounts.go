package operators

import (
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/queries"
)

// accountsData is what the page of the accounts shows.
type accountsData struct {
	Search   string
	Total    int
	Accounts []queries.Account
	Pager    page.Pager
}

// accounts lists the accounts whose user name contains what is searched for.
func (h *Handler) accounts(p *page.Page) error {
	p.Title = "Accounts"
	p.Commands = []string{
		"linkledger account list", "linkledger account show --username NAME",
		"linkledger account create --username NAME --plan PLAN",
	}
	data := accountsData{Search: strings.TrimSpace(p.Query().Get("search"))}
	all, err := h.Queries.Accounts(p.C.Context())
	if err != nil {
		return err
	}
	var found []queries.Account
	for _, a := range all {
		if strings.Contains(a.Username, strings.ToLower(data.Search)) {
			found = append(found, a)
		}
	}
	data.Total = len(found)
	offset, err := strconv.Atoi(p.Query().Get("offset"))
	if err != nil || offset < 0 || offset > len(found) {
		offset = 0 // the list has changed, or somebody has typed it
	}
	data.Accounts = found[offset:min(len(found), offset+page.Size)]
	data.Pager = page.NewPager(accountsPath, p.Chosen("search"), page.Part{
		Results: len(data.Accounts), Total: int64(len(found)), Offset: offset,
	})
	p.Data = data
	return nil
}
