package page

// Session is the session of the browser as the API answers it.
type Session struct {
	ID       string   `json:"id"`
	Account  *string  `json:"account"`
	Role     *string  `json:"role"`
	Scopes   []string `json:"scopes"`
	Tags     *string  `json:"tags"`
	Key      *string  `json:"key"`
	UserID   *string  `json:"user"`
	UserName string   `json:"user_name"`
	Operator bool     `json:"operator"`
	Accounts []struct {
		Username string `json:"username"`
		Role     string `json:"role"`
	} `json:"accounts"`
}

// readSession reads the session. That call is no part of what the page shows.
func (p *Page) readSession() error {
	var answer struct {
		Session Session `json:"session"`
	}
	if err := p.Get("/v3/session", nil, &answer); err != nil {
		return err
	}
	p.Session, p.Calls = &answer.Session, nil
	return nil
}

// SignInAs makes the calls of the page with a user name and an API key, in place of the session.
func (p *Page) SignInAs(username, key string) { p.username, p.key = username, key }
