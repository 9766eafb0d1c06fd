package operators

import (
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/contract"
	"linkledger/queries/accountlist"
)

// accountsData is what the page of the accounts shows.
type accountsData struct {
	Search   string
	Total    int64
	Accounts []accountlist.Account
	Pager    pager.Pager
}

// accounts lists the accounts whose user name contains what is searched for.
func (h *Handler) accounts(p *page.Page) error {
	p.Title = "Accounts"
	p.Commands = []string{
		"linkledger account list", "linkledger account show --username NAME",
		"linkledger account create --username NAME --plan PLAN",
	}
	data := accountsData{Search: strings.TrimSpace(p.Query().Get("search"))}
	offset, err := strconv.Atoi(p.Query().Get("offset"))
	if err != nil || offset < 0 {
		offset = 0 // somebody has edited the URL
	}
	data.Accounts, data.Total, err = h.Queries.AccountPage(
		p.C.Context(), data.Search, offset, pager.Size,
	)
	data.Pager = p.Paged(accountsPath, p.Chosen("search"), contract.Page{
		ResultsCount: len(data.Accounts), TotalCount: data.Total, Offset: offset,
	})
	p.Data = data
	return err
}
