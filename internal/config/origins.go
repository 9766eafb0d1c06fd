package config

import (
	"strings"

	"linkledger/httpapi"
)

// Origins are those whose pages may call the API from a browser, with commas between them.
type Origins string

// List returns each of them; none for an empty text.
func (o Origins) List() []string {
	var list []string
	for origin := range strings.SplitSeq(string(o), ",") {
		if origin = strings.TrimSpace(origin); origin != "" {
			list = append(list, origin)
		}
	}
	return list
}

// Valid reports whether each is spelled as browsers send it.
func (o Origins) Valid() bool { return httpapi.CheckOrigins(o.List()) == nil }
