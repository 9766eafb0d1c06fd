package contract

// AccountAnswer has the account of the call.
type AccountAnswer struct {
	Envelope
	Account Account `json:"account"`
	Past    *Past   `json:"past,omitempty"` // in answers to reads with the parameter at
}

// Account is an account with its counters.
type Account struct {
	UserID         string             `json:"user_id"`
	Username       string             `json:"username"`
	CustomDomain   string             `json:"custom_domain"`
	ExpirationDate string             `json:"account_expiration_date"`
	Plan           string             `json:"subscription_plan"`
	Counters       map[string]Counter `json:"counters"`
}

// Counter is what an account has used of a limit.
type Counter struct {
	Count int64 `json:"count"`
	Limit int64 `json:"limit"` // 0: none
}

// TagsAnswer has tags.
type TagsAnswer struct {
	Envelope
	Tags []Tag `json:"tags"`
}

// Tag is a tag of URLs.
type Tag struct {
	Label string `json:"label"`
}

// TagPayload is the body of calls that write a tag.
type TagPayload struct {
	Label string `json:"label"`
}

// KeysAnswer has API keys.
type KeysAnswer struct {
	Envelope
	Keys []AccountKey `json:"keys"`
}

// AccountKey is an API key, without its secret unless it was just made.
type AccountKey struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Scopes         []string   `json:"scopes"`          // null: all
	Tags           *string    `json:"tags"`            // null: all URLs
	Networks       []string   `json:"networks"`        // null: all
	ExpirationDate *string    `json:"expiration_date"` // null: never
	CreatedAt      Timestamp  `json:"created_at"`
	LastUsed       *Timestamp `json:"last_used"`     // null: never
	Key            string     `json:"key,omitempty"` // the secret of a new key
}

// KeyPayload is the body of calls that write a key. A field that is left out stays unchanged.
type KeyPayload struct {
	ExpirationDate string   `json:"expiration_date,omitempty"`
	Name           string   `json:"name"`
	Networks       []string `json:"networks,omitempty"`
	Scopes         []string `json:"scopes,omitempty"`
	Tags           string   `json:"tags,omitempty"`
}

// MembersAnswer has members of an account.
type MembersAnswer struct {
	Envelope
	Members []Member `json:"members"`
}

// Member is a person with a role in an account.
type Member struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Mail  string    `json:"mail"`
	Role  string    `json:"role"`
	Group *string   `json:"group"` // null: the role does not come from a group
	Since Timestamp `json:"since"`
}

// MemberPayload is the body of the call that gives a person a role.
type MemberPayload struct {
	ID   string `json:"id"`
	Role string `json:"role"`
}

// DomainsAnswer has the domains of short links.
type DomainsAnswer struct {
	Envelope
	Domains []ShortDomain `json:"domains"`
}

// ShortDomain is a domain in the format that existing clients of this API expect.
type ShortDomain struct {
	Domain           string `json:"domain"`
	HashCharacterSet string `json:"hash_character_set"`
	HashGeneration   string `json:"hash_generation"`
	Status           string `json:"status"`
	CustomRootPage   string `json:"custom_root_page"`
	Custom404Page    string `json:"custom_404_page"`
	RedirectCode     string `json:"redirect_code"`
	UseHTTPS         bool   `json:"use_https"`
}
