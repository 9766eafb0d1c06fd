package httpapi

import (
	"errors"
	"net/url"
)

// pageSizes are how many entries a list has without a limit, and at most.
type pageSizes struct{ Default, Max int }

// listing are the parameters of a list.
type listing struct {
	Offset int `name:"offset" validate:"min=0"`
	Limit  int `name:"limit" validate:"min=1"`
}

// page reads the parameters offset and limit.
func (s pageSizes) page(query url.Values) (listing, error) {
	list := listing{Limit: s.Default}
	if err := errors.Join(number(query, "offset", &list.Offset), number(query, "limit", &list.Limit)); err != nil {
		return listing{}, err
	}
	if err := check(list, ""); err != nil {
		return listing{}, err
	}
	list.Limit = min(list.Limit, s.Max)
	return list, nil
}
