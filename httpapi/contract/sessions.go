package contract

// SessionsAnswer has sessions of browsers.
type SessionsAnswer struct {
	Envelope
	Sessions []Session `json:"sessions"`
}

// Session is a session of a browser, without its secret. Either an API key or a person has started
// it.
type Session struct {
	ID        string    `json:"id"`
	Current   bool      `json:"current"` // the call has this session
	Key       string    `json:"key,omitempty"`
	KeyName   string    `json:"key_name,omitempty"`
	User      string    `json:"user,omitempty"`
	UserName  string    `json:"user_name,omitempty"`
	Address   string    `json:"address"` // keyed hash
	Agent     string    `json:"agent"`
	CreatedAt Timestamp `json:"created_at"`
	LastUsed  Timestamp `json:"last_used"`
}

// CurrentSessionAnswer has the session of the call.
type CurrentSessionAnswer struct {
	Envelope
	Session CurrentSession `json:"session"`
}

// CurrentSession says who has signed in, and for which account.
type CurrentSession struct {
	ID        string       `json:"id"`
	Account   *string      `json:"account"` // user name; null: a person without account
	Role      *string      `json:"role"`    // null: a key signed in
	Scopes    []string     `json:"scopes"`
	Tags      *string      `json:"tags"` // that the key is bound to; null: none
	Key       *string      `json:"key"`  // null: a person signed in
	User      *string      `json:"user"` // null: a key signed in
	UserName  string       `json:"user_name"`
	Operator  bool         `json:"operator"`
	Accounts  []Membership `json:"accounts"` // that the person is a member of
	CreatedAt Timestamp    `json:"created_at"`
}

// Membership is an account and the role of a person in it.
type Membership struct {
	Username string `json:"username"`
	Role     string `json:"role"`
}

// SessionPayload is the body of the call that moves a session to another account.
type SessionPayload struct {
	Account string `json:"account"` // user name
}

// EndedSessionAnswer answers the call that ends its own session.
type EndedSessionAnswer struct {
	Envelope
	// SignOutURL is where the browser signs out at the issuer too; null: nowhere.
	SignOutURL *string `json:"sign_out_url"`
}
