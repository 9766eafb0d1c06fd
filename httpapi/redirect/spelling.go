package redirect

import (
	"errors"
	"net/http"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
)

// find returns the link that the path means, if visitors may follow it, and its hash. Other
// spellings of the hash are looked up only if no link has the first one.
func (h *Handler) find(
	c *request.Context, now time.Time,
) (queries.Redirect, string, error) {
	name := c.Param("hash")
	link, err := h.link(c, name, now)
	if err == nil || !isNoLink(err) {
		return link, name, err
	}
	for _, hash := range shortlink.Hashes(name) {
		if hash == name {
			continue
		}
		if link, other := h.link(c, hash, now); other == nil || !isNoLink(other) {
			return link, hash, other
		}
	}
	return queries.Redirect{}, "", err
}

// isNoLink reports whether an error says that no link has a hash. A link that visitors may not
// follow any more has it.
func isNoLink(err error) bool {
	missing, ok := errors.AsType[*apierror.Error](err)
	return ok && missing.Code == apierror.CodeURLNotFound && missing.Status != http.StatusGone
}
