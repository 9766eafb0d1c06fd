package urls

import (
	"cmp"

	"linkledger/commands/linkwrite"
	"linkledger/commands/restoring"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/httpapi/v3/write"
)

// Restore undoes the deletion of the URL that the path names, or restores an earlier version of it.
func (h *Handler) Restore(c *request.Context) (any, error) {
	hash, err := selection.PathHash(c)
	if err != nil {
		return nil, err
	}
	body, err := decode.Body(c, h.Limits.Body)
	if err != nil {
		return nil, err
	}
	for name := range body.Values {
		if name != "version" { // a misspelled version would undo a deletion instead
			return nil, apierror.WrongInput("A restore takes a version, not %q", name)
		}
	}
	restore := restoring.RestoreURL{Hash: hash, Version: body.Integer("version")}
	if body.Err != nil {
		return nil, body.Err
	}
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome := h.Commands.RestoreURL(c.Context(), r, restore)
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	h.Waiter.AwaitWrite(c, catchup.Positions{URLs: outcome.Position.Commit})
	restored := []linkwrite.Outcome{outcome}
	err = write.CheckEffects(c, h.Waiter, restored)
	if err := cmp.Or(err, restored[0].Err); err != nil {
		return nil, err
	}
	link := h.Records.WithClicks(c, restored)[0]
	return urlsAnswer{
		Envelope: response.Succeeded(), URLs: []any{h.Records.Written(c, link, record.Sent{})},
	}, nil
}
