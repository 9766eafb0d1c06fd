package selection

import (
	"errors"
	"net/url"

	"linkledger/httpapi/decode"
)

// PageSizes are how many entries a list has without a limit, and at most.
type PageSizes struct{ Default, Max int }

// Page are the parameters of a list.
type Page struct {
	Offset int `name:"offset" validate:"min=0"`
	Limit  int `name:"limit" validate:"min=1"`
}

// Read reads the parameters offset and limit.
func (s PageSizes) Read(query url.Values) (Page, error) {
	list := Page{Limit: s.Default}
	if err := errors.Join(
		decode.Number(query, "offset", &list.Offset), decode.Number(query, "limit", &list.Limit),
	); err != nil {
		return Page{}, err
	}
	if err := decode.Check(list, ""); err != nil {
		return Page{}, err
	}
	list.Limit = min(list.Limit, s.Max)
	return list, nil
}
