package selection

import (
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Bound finds out which URLs a key that is bound to tags sees, before a command or a query reads
// them. A call about a URL that the key does not see then does the same work as a call about a URL
// that does not exist, so the duration of the call reveals nothing. Commands check again, exactly,
// which URLs the key sees.
type Bound struct {
	Lists *linklist.Reader
}

// Visible returns the hashes whose URLs the key of the call sees. For a key that is not bound to
// tags it returns all.
func (b Bound) Visible(c *request.Context, hashes []string) ([]string, error) {
	if c.Bound == nil || len(hashes) == 0 {
		return hashes, nil
	}
	found, err := b.Lists.Links(
		c.Context(), linklist.Query{Owner: c.Owner(), Hashes: hashes, Limit: len(hashes)},
	)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	visible := make([]string, len(found.Links))
	for i, link := range found.Links {
		visible[i] = link.Hash
	}
	return visible, nil
}

// Need fails if the key of the call does not see the URL of a hash. The error is the same as for a
// hash without a URL.
func (b Bound) Need(c *request.Context, hash string) error {
	visible, err := b.Visible(c, []string{hash})
	if err == nil && len(visible) == 0 {
		err = queries.ErrNotFound
	}
	return err
}
