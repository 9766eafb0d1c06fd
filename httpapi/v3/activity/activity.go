// Package activity handles calls about what the keys and members of an account have changed.
package activity

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/httpapi/apierror"
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

type activityResponse struct {
	response.Envelope
	Activity []record      `json:"activity"`
	Page     response.Page `json:"page"`
}

// record is a call that has changed something.
type record struct {
	Batch    uuid.UUID  `json:"batch"`
	Time     time.Time  `json:"time"`
	Key      string     `json:"key"`
	KeyName  string     `json:"key_name"`
	Request  string     `json:"request"`
	User     *uuid.UUID `json:"user"` // the person who called; null: none
	UserName string     `json:"user_name"`
	Via      string     `json:"via"` // api or console
	URLs     urlsRecord `json:"urls"`
	Tags     int        `json:"tags"`    // changes of tags
	Account  int        `json:"account"` // changes of the account and its keys

	Undoes      *uuid.UUID `json:"undoes,omitempty"`       // the call that it undoes
	UndoesKey   string     `json:"undoes_key,omitempty"`   // the key whose changes it undoes
	UndoesSince *time.Time `json:"undoes_since,omitempty"` // with undoes_key
	UndoneBy    *uuid.UUID `json:"undone_by"`              // null: it is not undone
}

// urlsRecord counts the URLs that a call changed.
type urlsRecord struct {
	Created  int `json:"created"`
	Edited   int `json:"edited"`
	Deleted  int `json:"deleted"`
	Restored int `json:"restored"`
	Reset    int `json:"reset"` // URLs whose clicks were reset
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
	resp := activityResponse{
		Envelope: response.Succeeded(), Activity: make([]record, len(calls)),
		Page: response.Page{
			ResultsCount: len(calls), TotalCount: total, Offset: page.Offset,
		},
	}
	for i, call := range calls {
		resp.Activity[i] = record{
			Batch: call.Batch, Time: call.At.UTC(), Key: call.Key, KeyName: call.KeyName,
			User: response.IDOrNull(call.User), UserName: call.UserName, Via: call.Via,
			Request: call.Request, Tags: call.Tags, Account: call.Account,
			URLs: urlsRecord{
				Created: call.Created, Edited: call.Edited, Deleted: call.Deleted,
				Restored: call.Restored, Reset: call.Reset,
			},
			Undoes: response.IDOrNull(call.Undoes), UndoesKey: call.UndoesKey,
			UndoesSince: call.UndoesSince, UndoneBy: response.IDOrNull(call.UndoneBy),
		}
	}
	return resp, nil
}

// kinds returns all kinds of calls, for people.
func kinds() string {
	var names []string
	for _, kind := range queries.ActivityKinds() {
		names = append(names, string(kind))
	}
	return strings.Join(names, ", ")
}

// idOf returns the id that a parameter is, or zero without the parameter. of says of what it is.
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
