package page

import "linkledger/httpapi/contract"

// readSession reads the session. That call is no part of what the page shows.
func (p *Page) readSession() error {
	var answer contract.CurrentSessionAnswer
	if err := p.Get("/v3/session", nil, &answer); err != nil {
		return err
	}
	p.Session, p.Calls = &answer.Session, nil
	return nil
}

// SignInAs makes the calls of the page with a user name and an API key, in place of the session.
func (p *Page) SignInAs(username, key string) { p.username, p.key = username, key }
