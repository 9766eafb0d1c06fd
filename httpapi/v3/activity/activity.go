// Package activity handles calls about the changes that the keys and members of an account have
// made.
package activity

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/selection"
	"linkledger/queries"
)

// Handler handles calls about the activity.
type Handler struct {
	Queries *queries.DB
	Waiter  *catchup.Waiter
	Pages   selection.PageSizes
}

// List returns a page of the calls that have changed something of the account.
func (h *Handler) List(c *request.Context) (any, error) {
	query, err := decode.Query(c)
	if err != nil {
		return nil, err
	}
	page, err := h.Pages.Read(query)
	if err != nil {
		return nil, err
	}
	from, fromErr := decode.Time(query, "from")
	to, toErr := decode.Time(query, "to")
	if err := errors.Join(fromErr, toErr); err != nil {
		return nil, err
	}
	user, userErr := idOf(query, "user", "a person")
	batch, batchErr := idOf(query, "batch", "a batch")
	if err := errors.Join(userErr, batchErr); err != nil {
		return nil, err
	}
	via := query.Get("via")
	if via != "" && via != events.ViaAPI && via != events.ViaConsole {
		return nil, apierror.WrongInput("via is either %s or %s", events.ViaAPI, events.ViaConsole)
	}
	kind := queries.ActivityKind(query.Get("kind"))
	if kind != "" && !slices.Contains(queries.ActivityKinds(), kind) {
		return nil, apierror.WrongInput("kind is one of %s", kinds())
	}
	h.Waiter.AwaitActivity(c)
	calls, total, err := h.Queries.Activity(c.Context(), queries.ActivityQuery{
		Account: c.Account.ID, Key: query.Get("key"), User: user, Via: via,
		Kind: kind, Batch: batch, Request: query.Get("request"),
		From: from, To: to, Offset: page.Offset, Limit: page.Limit,
	})
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.ActivityAnswer{
		Envelope: response.Succeeded(), Activity: make([]contract.Activity, len(calls)),
		Page: contract.Page{
			ResultsCount: len(calls), TotalCount: total, Offset: page.Offset,
		},
	}
	for i, call := range calls {
		resp.Activity[i] = contract.Activity{
			Batch: call.Batch.String(), Time: call.At.UTC(), Key: call.Key, KeyName: call.KeyName,
			User:     response.TextOrNull(response.TextOf(call.User)),
			UserName: call.UserName, Via: call.Via,
			Request: call.Request, Tags: call.Tags, Account: call.Account,
			URLs: contract.ActivityURLs{
				Created: call.Created, Edited: call.Edited, Deleted: call.Deleted,
				Restored: call.Restored, Reset: call.Reset,
			},
			Undoes: response.TextOf(call.Undoes), UndoesKey: call.UndoesKey,
			UndoesSince: call.UndoesSince,
			UndoneBy:    response.TextOrNull(response.TextOf(call.UndoneBy)),
		}
	}
	return resp, nil
}

// kinds returns the names of all kinds of calls, for the message of a refusal.
func kinds() string {
	var names []string
	for _, kind := range queries.ActivityKinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// idOf returns the id in the parameter name, or zero if the parameter is not given. of is what the
// id belongs to, such as "a person", for the message that refuses a wrong id.
func idOf(query url.Values, name, of string) (uuid.UUID, error) {
	text := query.Get(name)
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return uuid.Nil, apierror.WrongInput("%s is not the id of %s", name, of)
	}
	return id, nil
}
