package contract

import "time"

// ActivityAnswer has a page of the calls that have changed something of an account.
type ActivityAnswer struct {
	Envelope
	Activity []Activity `json:"activity"`
	Page     Page       `json:"page"`
}

// Activity is a call that has changed something.
type Activity struct {
	Batch    string       `json:"batch"`
	Time     time.Time    `json:"time"`
	Key      string       `json:"key"`
	KeyName  string       `json:"key_name"`
	Request  string       `json:"request"`
	User     *string      `json:"user"` // the person who called; null: none
	UserName string       `json:"user_name"`
	Via      string       `json:"via"` // api or console
	URLs     ActivityURLs `json:"urls"`
	Tags     int          `json:"tags"`    // changes of tags
	Account  int          `json:"account"` // changes of the account and its keys

	Undoes      string     `json:"undoes,omitempty"`       // the batch that this call undoes
	UndoesKey   string     `json:"undoes_key,omitempty"`   // the key whose changes this call undoes
	UndoesSince *time.Time `json:"undoes_since,omitempty"` // with undoes_key
	UndoneBy    *string    `json:"undone_by"`              // null: this call is not undone
}

// ActivityURLs counts the URLs that a call changed.
type ActivityURLs struct {
	Created  int `json:"created"`
	Edited   int `json:"edited"`
	Deleted  int `json:"deleted"`
	Restored int `json:"restored"`
	Reset    int `json:"reset"` // URLs whose clicks were reset
}
