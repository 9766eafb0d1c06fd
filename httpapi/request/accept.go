package request

import (
	"cmp"
	"mime"
	"strconv"
	"strings"
)

// PrefersJSON reports whether the client accepts JSON with a higher weight than HTML. Wildcards do
// not count.
func (c *Context) PrefersJSON() bool {
	accept := c.Request.Header.Values("Accept")
	weights := make(map[string]float64)
	for entry := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(entry)
		weight, weightErr := strconv.ParseFloat(cmp.Or(params["q"], "1"), 64)
		if err == nil && weightErr == nil {
			weights[mediaType] = max(weights[mediaType], weight)
		}
	}
	return weights["application/json"] > weights["text/html"]
}
