// Package members handles calls that list, add, change and remove the members of an account.
package members

import (
	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/catchup"
	"linkledger/httpapi/v3/write"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// Handler handles calls about members.
type Handler struct {
	Accounts  *accounts.Accounts
	Queries   *queries.DB
	Requests  *write.Requests
	Waiter    *catchup.Waiter
	BodyLimit int64 // bytes
}

// List returns the members of the account.
func (h *Handler) List(c *request.Context) (any, error) {
	return h.list(c, func(accountlist.Member) bool { return true })
}

func (h *Handler) list(c *request.Context, include func(accountlist.Member) bool) (any, error) {
	found, err := h.Queries.Members(c.Context(), c.Account.ID)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp := contract.MembersAnswer{Envelope: response.Succeeded(), Members: []contract.Member{}}
	for _, m := range found {
		if !include(m) {
			continue
		}
		resp.Members = append(resp.Members, contract.Member{
			ID: m.User.String(), Name: m.Name, Mail: m.Mail, Role: m.Role,
			Group: response.TextOrNull(m.Group), Since: response.Time(m.Since),
		})
	}
	return resp, nil
}

// Set gives a person a role, and returns the member.
func (h *Handler) Set(c *request.Context) (any, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return nil, err
	}
	name, id := body.Text("role"), body.Text("id")
	switch {
	case body.Err != nil:
		return nil, body.Err
	case name == nil:
		return nil, &apierror.Error{Code: apierror.CodeMissingInput, Details: "role is missing"}
	case id == nil:
		return nil, &apierror.Error{Code: apierror.CodeMissingInput, Details: "id is missing"}
	}
	role, err := access.CheckedRole(*name)
	if err != nil {
		return nil, err
	}
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	user, err := h.person(c, *id)
	if err != nil {
		return nil, err
	}
	position, err := h.Accounts.SetMember(
		c.Context(), r, c.Account.ID.String(), accounts.Member{User: user, Role: role},
	)
	if err != nil {
		return nil, err
	}
	if err := h.await(c, h.Waiter.AwaitEffect, position.Commit); err != nil {
		return nil, err
	}
	without := false
	set, err := h.list(c, func(m accountlist.Member) bool {
		if m.User.String() != user {
			return false
		}
		//nolint:gosec // never negative
		without = m.Role != string(role) && uint64(m.Changed) <= position.Commit
		return true
	})
	if err == nil && without {
		err = apierror.Late("The change is stored, but has no effect, because earlier changes of " +
			"the account were given up: tell the operator of this service")
	}
	return set, err
}

// person returns the id of a person who has signed in before, in its usual form. The API names a
// person by the id alone, and people see their own id. So only a caller who knows the id can make
// the person a member and see their name.
func (h *Handler) person(c *request.Context, id string) (string, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return "", apierror.WrongInput("id names no person")
	}
	known, err := h.Queries.People(c.Context(), []uuid.UUID{parsed})
	if err != nil {
		return "", apierror.Unavailable(err)
	}
	if person, ok := known[parsed]; !ok || person.Erased {
		return "", domain.Refuse(
			domain.UserNotFound, "There is no person %q: a person has an id once they have "+
				"signed in", parsed,
		)
	}
	return parsed.String(), nil
}

// Remove ends the membership of the person that the path names. When it returns without an error,
// the sessions of the person for this account have ended on all nodes.
func (h *Handler) Remove(c *request.Context) (any, error) {
	r, err := h.Requests.Begin(c)
	if err != nil {
		return nil, err
	}
	user := c.Param("id")
	if id, err := uuid.Parse(user); err == nil {
		user = id.String()
	}
	position, err := h.Accounts.RemoveMember(c.Context(), r, c.Account.ID.String(), user)
	if err != nil {
		return nil, err
	}
	return response.Succeeded(), h.await(c, h.Waiter.AwaitEnd, position.Commit)
}

// await waits until the read models show a membership as a command has left it, and until calls
// that began before that make no more changes. It need not wait for caches, because no node caches
// memberships: each call of a session asks the read models.
func (h *Handler) await(
	c *request.Context, await func(*request.Context, uint64) error, commit uint64,
) error {
	if err := await(c, commit); err != nil {
		return err
	}
	return permit.AwaitEnd(c.Context())
}
