package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/contract"
)

type accountData struct {
	At        string `json:"-"` // the account is shown as it was then; empty: as it is
	Operators string `json:"-"` // scheme://host[:port] of their console
	Account   struct {
		Username string `json:"username"`
		Plan     string `json:"subscription_plan"`
		Expires  string `json:"account_expiration_date"`
		Counters map[string]struct {
			Count int64 `json:"count"`
			Limit int64 `json:"limit"`
		} `json:"counters"`
	} `json:"account"`
	Sessions []struct {
		actor

		ID        string    `json:"id"`
		Current   bool      `json:"current"`
		Agent     string    `json:"agent"`
		CreatedAt time.Time `json:"created_at"`
		LastUsed  time.Time `json:"last_used"`
	} `json:"sessions"`
	Members []struct {
		ID    string    `json:"id"`
		Name  string    `json:"name"`
		Mail  string    `json:"mail"`
		Role  string    `json:"role"`
		Group *string   `json:"group"`
		Since time.Time `json:"since"`
	} `json:"members"`
}

// readAccount adds the account, now or at a time. If the time is refused, it adds the present one.
func readAccount(p *page.Page, data *accountData) error {
	query := make(url.Values)
	if at := p.At(); at != "" {
		query.Set("at", at)
	}
	err := p.Get("/v3/account", query, data)
	if refused, ok := page.AsRefusal(err); ok && len(query) > 0 {
		p.Refuse(refused)
		return p.Get("/v3/account", nil, data)
	}
	data.At = query.Get("at")
	return err
}

// account shows the account, the sessions that the caller sees, and the members. Who is a member of
// no account sees only their own id.
func (h *Handler) account(p *page.Page) error {
	p.Title = "Account"
	data := accountData{Operators: h.cfg.Operators}
	if p.Session.Account != nil {
		if err := readAccount(p, &data); err != nil {
			return err
		}
		if err := p.Get("/v3/sessions", nil, &data); err != nil {
			return err
		}
	}
	if p.Can("members:read") && p.Session.Tags == nil {
		if err := p.Get("/v3/members", nil, &data); err != nil {
			return err
		}
	}
	p.Data = data
	return nil
}

// moveSession moves the session to another account of the person.
func (h *Handler) moveSession(p *page.Page) error {
	body := contract.SessionPayload{Account: p.Form.Get("account")}
	return p.Finish(p.Call(http.MethodPatch, "/v3/session", body, nil), linksPath, "")
}

// Roles returns those that a member can have. The form of a new member begins with the first one.
func (accountData) Roles() []string { return []string{"viewer", "editor", "auditor", "owner"} }

// setMember gives a person a role in the account.
func (h *Handler) setMember(p *page.Page) error {
	role := p.Form.Get("role")
	body := contract.MemberPayload{ID: strings.TrimSpace(p.Form.Get("id")), Role: role}
	err := p.Call(http.MethodPut, "/v3/members", body, nil)
	return p.Finish(err, accountPath, "The person is now "+role)
}

func (h *Handler) removeMember(p *page.Page) error {
	path := "/v3/members/" + url.PathEscape(p.C.Param("id"))
	err := p.Call(http.MethodDelete, path, nil, nil)
	return p.Finish(err, accountPath, "The person is no member any more")
}

func (h *Handler) endSession(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/sessions/"+url.PathEscape(p.C.Param("id")), nil, nil)
	return p.Finish(err, accountPath, "The session has ended")
}
