package console

// This file has the words for who has done something: names, and no ids.

import (
	"net/url"

	"linkledger/httpapi/console/page"
)

// actor is who caused an event or made a call.
type actor struct {
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	KeyName  string `json:"key_name"`
	User     string `json:"user"`
	UserName string `json:"user_name"`
	Via      string `json:"via"`
}

// Who returns who it is, for people.
func (a actor) Who() string {
	switch {
	case a.Kind == "operator":
		return "an operator"
	case a.Kind == "foreign":
		return "another account"
	case a.UserName != "":
		return a.UserName
	case a.User != "":
		return "a person without a name"
	case a.KeyName != "":
		return "key " + a.KeyName
	case a.Key != "":
		return "a key without a name"
	}
	return "the account" // as versions of before recorded it
}

// KnownBy returns by which id it is known, to tell those apart that have the same name or none.
func (a actor) KnownBy() string {
	if a.User != "" {
		return "person " + a.User
	}
	if a.Key != "" {
		return "key " + a.Key
	}
	return ""
}

// nameOfKey returns words for a key, which may be revoked. The activity knows its name.
func nameOfKey(p *page.Page, key string) string {
	var made activityData
	query := url.Values{"key": {key}, "limit": {"1"}}
	if err := p.Get("/v3/activity", query, &made); err != nil || len(made.Calls) == 0 {
		return actor{Key: key}.Who() // the name alone is not worth a refusal
	}
	return made.Calls[0].By().keyWords()
}

// keyWords are words for the key, whoever has used it.
func (a actor) keyWords() string { return actor{Key: a.Key, KeyName: a.KeyName}.Who() }
