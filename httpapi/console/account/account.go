// Package account has the pages of an account: its plan and members, the sessions of browsers, and
// its API keys.
package account

import (
	"embed"
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/router"
)

// The paths of the pages.
const (
	Path     = "/console/account"
	keysPath = "/console/keys"
)

//go:embed templates/*.html
var files embed.FS

// Part returns the templates of the pages.
func Part() assets.Part { return assets.Part{Files: files} }

// Routes returns the routes of the pages. operators is the address of the console of operators:
// scheme://host[:port]. start is the path of the page that follows when a session has moved to
// another account.
func Routes(pages *page.Pages, operators, start string) []router.Route {
	return []router.Route{
		router.Get(Path, pages.SignedIn("account", func(p *page.Page) error {
			return account(p, operators)
		})),
		router.Post(Path, pages.Action(Path, func(p *page.Page) error {
			return moveSession(p, start)
		})),
		router.Post("/console/sessions/:id/end", pages.Action(Path, endSession)),
		router.Post("/console/members", pages.Action(Path, setMember)),
		router.Post("/console/members/:id/remove", pages.Action(Path, removeMember)),
		router.Get(keysPath, pages.SignedIn("keys", keys)),
		router.Post(keysPath, pages.Action(keysPath, addKey)),
		router.Post(keysPath+"/:id/revoke", pages.Action(keysPath, revokeKey)),
	}
}

// accountData is what the page of the account shows.
type accountData struct {
	At        string // a past time at which the account is shown; empty: now
	Operators string // scheme://host[:port] of the console of operators
	Account   contract.Account
	Sessions  []contract.Session
	Members   []contract.Member
}

// readAccount adds to data the account, as of the time that the page names or now. If the API
// refuses the time, it adds the present account.
func readAccount(p *page.Page, data *accountData) error {
	query := make(url.Values)
	if at := p.At(); at != "" {
		query.Set("at", at)
	}
	var answer contract.AccountAnswer
	err := p.Get("/v3/account", query, &answer)
	if refused, ok := calls.AsRefusal(err); ok && len(query) > 0 {
		p.Refuse(refused)
		query.Del("at")
		err = p.Get("/v3/account", nil, &answer)
	}
	data.Account, data.At = answer.Account, query.Get("at")
	return err
}

// account shows the account, the sessions that the caller sees, and the members. A person who is a
// member of no account sees only their own id.
func account(p *page.Page, operators string) error {
	p.Title = "Account"
	data := accountData{Operators: operators}
	if p.Session.Account != nil {
		if err := readAccount(p, &data); err != nil {
			return err
		}
		var answer contract.SessionsAnswer
		if err := p.Get("/v3/sessions", nil, &answer); err != nil {
			return err
		}
		data.Sessions = answer.Sessions
	}
	if p.Can("members:read") && p.Session.Tags == nil {
		var answer contract.MembersAnswer
		if err := p.Get("/v3/members", nil, &answer); err != nil {
			return err
		}
		data.Members = answer.Members
	}
	p.Data = data
	return nil
}

// moveSession moves the session to another account of the person.
func moveSession(p *page.Page, start string) error {
	body := contract.SessionPayload{Account: p.Form.Get("account")}
	return p.Finish(p.Call(http.MethodPatch, "/v3/session", body, nil), start, "")
}

// Roles returns the roles that a member can have. The form of a new member preselects the first
// one.
func (accountData) Roles() []string { return []string{"viewer", "editor", "auditor", "owner"} }

// setMember gives a person a role in the account.
func setMember(p *page.Page) error {
	role := p.Form.Get("role")
	body := contract.MemberPayload{ID: strings.TrimSpace(p.Form.Get("id")), Role: role}
	err := p.Call(http.MethodPut, "/v3/members", body, nil)
	return p.Finish(err, Path, "The person is now "+role)
}

func removeMember(p *page.Page) error {
	path := "/v3/members/" + url.PathEscape(p.C.Param("id"))
	err := p.Call(http.MethodDelete, path, nil, nil)
	return p.Finish(err, Path, "The person is no member any more")
}

func endSession(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/sessions/"+url.PathEscape(p.C.Param("id")), nil, nil)
	return p.Finish(err, Path, "The session has ended")
}
