// Package keys handles calls that list, add, change and revoke the API keys of an account.
package keys

import (
	"slices"
	"time"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
)

// Handler handles calls about keys.
type Handler struct {
	Accounts  *accounts.Accounts
	Queries   *queries.DB
	Requests  *write.Requests
	Waiter    *catchup.Waiter
	BodyLimit int64 // bytes
	// LoginsCached is how long nodes may still accept new calls of a revoked key, because they
	// cache logins.
	LoginsCached time.Duration
}

// List returns the keys of the account that are not revoked.
func (h *Handler) List(c *request.Context) (any, error) {
	found, err := h.Queries.Keys(c.Context(), c.Account.ID)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.KeysAnswer{
		Envelope: response.Succeeded(), Keys: make([]contract.AccountKey, len(found)),
	}
	for i, key := range found {
		resp.Keys[i] = contract.AccountKey{
			ID: key.ID, Name: key.Name, Scopes: key.Scopes, Tags: response.TextOrNull(key.Tags),
			Networks: key.Networks, ExpirationDate: response.TextOrNull(key.ExpirationDate),
			CreatedAt: response.Time(key.CreatedAt),
			LastUsed:  response.TimeOrNull(key.LastUsed),
		}
	}
	return resp, nil
}

// Add adds a key and returns it with its secret.
func (h *Handler) Add(c *request.Context) (any, error) {
	change, r, err := h.begin(c)
	if err != nil {
		return nil, err
	}
	terms := change.Apply(events.KeyTerms{})
	outcome, err := h.Accounts.AddKey(c.Context(), r, c.Account.ID.String(), terms)
	if err != nil {
		return nil, err
	}
	h.Waiter.AwaitWrite(c, catchup.Positions{Accounts: outcome.Position.Commit})
	return written(outcome), h.Waiter.CheckEffect(c, outcome.Position.Commit, false)
}

// Change changes the terms of the key that the path names.
func (h *Handler) Change(c *request.Context) (any, error) {
	change, r, err := h.begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Accounts.ChangeKey(
		c.Context(), r, c.Account.ID.String(), c.Param("id"), change,
	)
	if err != nil {
		return nil, err
	}
	if err := h.awaitAllNodes(c, h.Waiter.AwaitEffect, outcome); err != nil {
		return nil, err
	}
	return written(outcome), h.checkShown(c, outcome)
}

// checkShown fails with status 503 if the read models do not show the terms of a key that a command
// has set, although the account has no later change. The read models then lack the change for good,
// because an operator has given up an event of the account that could not be applied.
func (h *Handler) checkShown(c *request.Context, outcome accounts.KeyOutcome) error {
	key := outcome.Key
	keys, err := h.Queries.Keys(c.Context(), c.Account.ID)
	if err != nil {
		return apierror.Unavailable(err)
	}
	for _, shown := range keys {
		if shown.ID == key.ID && shown.Name == key.Name && shown.Tags == key.Tags &&
			shown.ExpirationDate == key.Expires && slices.Equal(shown.Scopes, key.Scopes) &&
			slices.Equal(shown.Networks, key.Networks) {
			return nil
		}
	}
	last, err := h.Waiter.LastChange(c.Context(), c.Account.ID)
	if err != nil || last > outcome.Position.Commit {
		return apierror.Unavailable(err)
	}
	return apierror.Late("The change is stored, but has no effect, because earlier changes of " +
		"the account were given up: tell the operator of this service")
}

// Revoke revokes the key that the path names. When it returns without an error, no node accepts the
// key any more.
func (h *Handler) Revoke(c *request.Context) (any, error) {
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	outcome, err := h.Accounts.RevokeKey(
		c.Context(), r, c.Account.ID.String(), c.Param("id"),
	)
	if err != nil {
		return nil, err
	}
	return response.Succeeded(), h.awaitAllNodes(c, h.Waiter.AwaitEnd, outcome)
}

// awaitAllNodes waits until no node uses the former state of a key. First await waits until the
// read models show the state after the command. Then the logins that nodes cached before expire.
// After that, calls that began with the former state make no more changes.
func (h *Handler) awaitAllNodes(
	c *request.Context, await func(*request.Context, uint64) error, outcome accounts.KeyOutcome,
) error {
	if err := await(c, outcome.Position.Commit); err != nil {
		return err
	}
	select {
	case <-time.After(h.LoginsCached):
		return permit.AwaitEnd(c.Context())
	case <-c.Context().Done():
		return c.Context().Err()
	}
}

func written(outcome accounts.KeyOutcome) contract.KeysAnswer {
	key := outcome.Key
	return contract.KeysAnswer{Envelope: response.Succeeded(), Keys: []contract.AccountKey{{
		ID: key.ID, Name: key.Name, Scopes: key.Scopes, Tags: response.TextOrNull(key.Tags),
		Networks: key.Networks, ExpirationDate: response.TextOrNull(key.Expires),
		CreatedAt: response.Time(key.AddedAt),
		Key:       outcome.Secret,
	}}}
}

// begin reads the fields of a key from the body. It also returns the request of the command that
// sets them.
func (h *Handler) begin(c *request.Context) (access.TermsChange, domain.Request, error) {
	change, err := h.read(c)
	if err != nil {
		return change, domain.Request{}, err
	}
	r, err := h.Requests.Begin(c)
	return change, r, err
}

// fields are the fields of a key that calls set.
var fields = []string{"name", "scopes", "tags", "networks", "expiration_date"}

// read reads the fields of a key from the body. It refuses unknown fields, because a restriction
// with a misspelled name would not restrict the key.
func (h *Handler) read(c *request.Context) (access.TermsChange, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return access.TermsChange{}, err
	}
	for name := range body.Values {
		if !slices.Contains(fields, name) {
			return access.TermsChange{}, apierror.WrongInput("A key has no field %q", name)
		}
	}
	change := access.TermsChange{
		Name: body.Text("name"), Scopes: list(&body, "scopes"),
		Tags: body.Text("tags"), Networks: list(&body, "networks"),
		Expires: body.Text("expiration_date"),
	}
	if body.IsNull("tags") {
		change.Tags = new("")
	}
	if body.IsNull("expiration_date") {
		change.Expires = new("")
	}
	if body.Err == nil && change.Scopes != nil && len(*change.Scopes) == 0 &&
		!body.IsNull("scopes") {
		return change, apierror.WrongInput("scopes is empty: name some, or send null for all")
	}
	return change, body.Err
}

// list returns the list in a field. It returns an empty list if the field is null, and nil if the
// field is absent.
func list(body *decode.Object, name string) *[]string {
	if _, given := body.Values[name]; !given {
		return nil
	}
	values := body.List(name)
	return &values
}
