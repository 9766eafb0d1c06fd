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

// find returns the link that the path of a request stands for, and its hash. It fails if visitors
// may not follow the link. It looks up other spellings of the hash only if no link has the hash as
// written.
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

// isNoLink reports whether an error says that no link has a hash. It returns false if a link has
// the hash, but visitors may no longer follow it.
func isNoLink(err error) bool {
	missing, ok := errors.AsType[*apierror.Error](err)
	return ok && missing.Code == apierror.CodeURLNotFound && missing.Status != http.StatusGone
}
