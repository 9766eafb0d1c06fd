package httpapi

import "linkledger/commands"

// restoreURL undoes the deletion of the URL that the path names, or makes it as it was in an earlier version.
func (h *urlHandler) restoreURL(c *exchange) (any, error) {
	hash, err := pathHash(c)
	if err != nil {
		return nil, err
	}
	body, err := readBody(c, h.Limits.Body)
	if err != nil {
		return nil, err
	}
	for name := range body.values {
		if name != "version" { // a version that is misspelled would undo a deletion instead
			return nil, wrongInput("A restore takes a version, not %q", name)
		}
	}
	restore := commands.RestoreURL{Hash: hash, Version: body.integer("version")}
	if body.err != nil {
		return nil, body.err
	}
	r, err := h.Requests.begin(c)
	if err != nil {
		return nil, err
	}
	outcome := h.Commands.RestoreURL(c.context(), r, restore)
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	h.Waiter.settle(c, written{urls: outcome.Position.Commit})
	link := h.Records.counted(c, []commands.URLOutcome{outcome})[0]
	return urlsAnswer{envelope: succeeded(), URLs: []any{h.Records.written(c, link)}}, nil
}
