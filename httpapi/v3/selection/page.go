package selection

import (
	"errors"
	"net/url"

	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
)

// PageSizes are the default and the largest number of entries of a page.
type PageSizes struct{ Default, Max int }

// Page has the parameters of a page of a list.
type Page struct {
	Offset int `name:"offset" validate:"min=0"`
	Limit  int `name:"limit" validate:"min=1"`
}

// Of reads the parameters offset and limit of a call that has no others.
func (s PageSizes) Of(c *request.Context) (Page, error) {
	query, err := decode.Query(c)
	if err != nil {
		return Page{}, err
	}
	return s.Read(query)
}

// Read reads the parameters offset and limit.
func (s PageSizes) Read(query url.Values) (Page, error) {
	page := Page{Limit: s.Default}
	if err := errors.Join(
		decode.Number(query, "offset", &page.Offset), decode.Number(query, "limit", &page.Limit),
	); err != nil {
		return Page{}, err
	}
	if err := decode.Check(page, ""); err != nil {
		return Page{}, err
	}
	page.Limit = min(page.Limit, s.Max)
	return page, nil
}
