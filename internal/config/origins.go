package config

import (
	"strings"

	"linkledger/httpapi"
)

// Origins is a comma-separated list of the origins whose pages may call the API from a browser.
type Origins string

// List returns the origins as a list. It is empty if there are none.
func (o Origins) List() []string {
	var list []string
	for origin := range strings.SplitSeq(string(o), ",") {
		if origin = strings.TrimSpace(origin); origin != "" {
			list = append(list, origin)
		}
	}
	return list
}

// Valid reports whether each origin is spelled as browsers send it.
func (o Origins) Valid() bool { return httpapi.CheckOrigins(o.List()) == nil }
