package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

type accountData struct {
	Account struct {
		Username string `json:"username"`
		Plan     string `json:"subscription_plan"`
		Expires  string `json:"account_expiration_date"`
		Counters map[string]struct {
			Count int64 `json:"count"`
			Limit int64 `json:"limit"`
		} `json:"counters"`
	} `json:"account"`
	Sessions []struct {
		ID        string    `json:"id"`
		Current   bool      `json:"current"`
		KeyName   string    `json:"key_name"`
		Key       string    `json:"key"`
		UserName  string    `json:"user_name"`
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

// account shows the account, the sessions that the caller sees, and the members. Who is a member of
// no account sees only their own id.
func (h *Handler) account(p *page) error {
	p.Title = "Account"
	var data accountData
	if p.Session.Account != nil {
		if err := p.get("/v3/account", nil, &data); err != nil {
			return err
		}
		if err := p.get("/v3/sessions", nil, &data); err != nil {
			return err
		}
	}
	if p.Can("members:read") && p.Session.Tags == nil {
		if err := p.get("/v3/members", nil, &data); err != nil {
			return err
		}
	}
	p.Data = data
	return nil
}

// moveSession moves the session to another account of the person.
func (h *Handler) moveSession(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	p.redirect = linksPath
	body := map[string]any{"account": form.Get("account")}
	return p.call(http.MethodPatch, "/v3/session", body, nil)
}

// roles are those that a member can have.
var roles = []string{"owner", "editor", "viewer", "auditor"}

// Roles returns those that a member can have.
func (accountData) Roles() []string { return roles }

// onAccount leads back to the account after an action. If it was refused, the page says why.
func (h *Handler) onAccount(p *page, form url.Values, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		p.redirect = accountPath
		return err
	}
	p.Form = form
	err = h.account(p)
	p.Refused, p.status = refused.text, refused.status
	return err
}

// setMember gives a person a role in the account.
func (h *Handler) setMember(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	body := map[string]any{"id": strings.TrimSpace(form.Get("id")), "role": form.Get("role")}
	return h.onAccount(p, form, p.call(http.MethodPut, "/v3/members", body, nil))
}

func (h *Handler) removeMember(p *page) error {
	path := "/v3/members/" + url.PathEscape(p.c.Param("id"))
	return h.onAccount(p, nil, p.call(http.MethodDelete, path, nil, nil))
}

func (h *Handler) endSession(p *page) error {
	p.redirect = accountPath
	return p.call(http.MethodDelete, "/v3/sessions/"+url.PathEscape(p.c.Param("id")), nil, nil)
}
