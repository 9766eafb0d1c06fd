package main

import (
	"strings"

	"linkledger/httpapi"
)

// origins are those whose pages may call the API from a browser, with commas between them.
type origins string

// list returns each of them; none for an empty text.
func (o origins) list() []string {
	var list []string
	for origin := range strings.SplitSeq(string(o), ",") {
		if origin = strings.TrimSpace(origin); origin != "" {
			list = append(list, origin)
		}
	}
	return list
}

// valid reports whether each is spelled as browsers send it.
func (o origins) valid() bool { return httpapi.CheckOrigins(o.list()) == nil }
