// Package sessions handles calls that start, list, move and end the sessions of browsers.
package sessions

import (
	"slices"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/session"
	"linkledger/queries"
	"linkledger/queries/accountlist"
	"linkledger/queries/sessionlist"
)

// Handler handles calls about sessions.
type Handler struct {
	Sessions  *session.Sessions
	Lists     *sessionlist.Reader
	Queries   *queries.DB
	BodyLimit int64 // bytes
}

// Start starts a session for the API key of the call. The browser gets the cookie of the session.
func (h *Handler) Start(c *request.Context) (any, error) {
	if err := h.Sessions.CheckOrigin(c.Request); err != nil {
		return nil, err
	}
	if c.Session.ID != uuid.Nil {
		return nil, apierror.WrongInput("The call has a session: sign in with an API key")
	}
	id, err := h.Sessions.Start(c, accountlist.NewSession{Account: c.Account.ID, Key: c.Key.ID})
	if err != nil {
		return nil, err
	}
	started, err := h.Lists.OfAccount(
		c.Context(), sessionlist.Of{Account: c.Account.ID, ID: id}, h.Sessions.Now(),
	)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	return listed(started, id), nil
}

// List returns the sessions of the account that the caller may see. A caller with the scope
// members:read sees all, unless its key is bound to tags. Any other caller sees only the sessions
// of its own person or key.
func (h *Handler) List(c *request.Context) (any, error) {
	found, err := h.visible(c, access.MembersRead, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return listed(found, c.Session.ID), nil
}

// listed returns the response with sessions. current is the id of the call's own session.
func listed(found []sessionlist.Session, current uuid.UUID) contract.SessionsAnswer {
	resp := contract.SessionsAnswer{
		Envelope: response.Succeeded(), Sessions: make([]contract.Session, len(found)),
	}
	for i, s := range found {
		resp.Sessions[i] = contract.Session{
			ID: s.ID.String(), Current: s.ID == current, Key: s.Key, KeyName: s.KeyName,
			User: response.TextOf(s.User), UserName: s.UserName, Address: s.Address,
			Agent: s.Agent, CreatedAt: response.Time(s.Begun),
			LastUsed: response.Time(s.Used),
		}
	}
	return resp
}

// visible returns the sessions of the account that the caller may see. A caller that has the scopes
// in all, and is not bound to tags, sees every session. Any other caller sees only the sessions of
// its own person or key. If id is not zero, visible leaves out all sessions with another id.
func (h *Handler) visible(
	c *request.Context, all access.Scopes, id uuid.UUID,
) ([]sessionlist.Session, error) {
	of := sessionlist.Of{Account: c.Account.ID, ID: id}
	if !c.Scopes().Have(all) || c.Bound != nil {
		of.User, of.Key = c.Session.User, c.Key.ID
	}
	found, err := h.Lists.OfAccount(c.Context(), of, h.Sessions.Now())
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	return found, nil
}

// End ends the session that the path names. The session MUST be one of the caller's own person or
// key, unless the caller has the scope members and is not bound to tags. When End returns without
// an error, no node accepts the session any more.
func (h *Handler) End(c *request.Context) (any, error) {
	none := &apierror.Error{
		Code: apierror.CodeInvalidResource, Details: "There is no such session",
	}
	id, err := uuid.Parse(c.Param("id"))
	if err != nil || id == uuid.Nil {
		return nil, none
	}
	found, err := h.visible(c, access.Members, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, none
	}
	return response.Succeeded(), h.Sessions.End(c, id)
}

// Current returns the session of the call.
func (h *Handler) Current(c *request.Context) (any, error) {
	s := c.Session
	resp := contract.CurrentSessionAnswer{Envelope: response.Succeeded()}
	resp.Session = contract.CurrentSession{
		ID:      s.ID.String(),
		Account: response.TextOrNull(s.Username), Role: response.TextOrNull(s.Role),
		Scopes: []string{}, Tags: response.TextOrNull(c.Key.Terms().Tags),
		Key: response.TextOrNull(c.Key.ID), User: response.TextOrNull(response.TextOf(s.User)),
		Operator: s.Operator, Accounts: []contract.Membership{}, CreatedAt: response.Time(s.Begun),
	}
	if s.Account.ID != uuid.Nil {
		resp.Session.Scopes = c.Scopes().Names()
	}
	if s.User == uuid.Nil {
		return resp, nil
	}
	people, err := h.Queries.People(c.Context(), []uuid.UUID{s.User})
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	resp.Session.UserName = people[s.User].Label()
	memberships, err := h.Queries.Memberships(c.Context(), s.User)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	for _, m := range memberships {
		resp.Session.Accounts = append(
			resp.Session.Accounts, contract.Membership{Username: m.Username, Role: m.Role},
		)
	}
	return resp, nil
}

// Move moves the session of the call to another account that its person is a member of.
func (h *Handler) Move(c *request.Context) (any, error) {
	body, err := decode.Body(c, h.BodyLimit)
	if err != nil {
		return nil, err
	}
	username := body.Text("account")
	if body.Err != nil {
		return nil, body.Err
	}
	if username == nil {
		return nil, &apierror.Error{Code: apierror.CodeMissingInput, Details: "account is missing"}
	}
	var memberships []accountlist.Member
	if c.Session.User != uuid.Nil {
		memberships, err = h.Queries.Memberships(c.Context(), c.Session.User)
	}
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	i := slices.IndexFunc(
		memberships, func(m accountlist.Member) bool { return m.Username == *username },
	)
	if i < 0 {
		return nil, &apierror.Error{
			Code: apierror.CodeAccessDenied, Details: "You are no member of this account",
		}
	}
	to := memberships[i]
	err = h.Sessions.Store.MoveSession(c.Context(), c.Session.ID, to.Account, to.Changed)
	if err != nil {
		return nil, apierror.Unavailable(err)
	}
	if err := h.Sessions.Resume(c); err != nil {
		return nil, err
	}
	return h.Current(c)
}

// EndCurrent ends the session of the call.
func (h *Handler) EndCurrent(c *request.Context) (any, error) {
	endURL, err := h.Sessions.SignOut(c)
	return contract.EndedSessionAnswer{
		Envelope: response.Succeeded(), SignOutURL: response.TextOrNull(endURL),
	}, err
}
