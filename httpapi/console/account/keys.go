package account

// This file has the page of API keys.

import (
	"net/http"
	"net/url"
	"slices"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/forms"
	"linkledger/httpapi/console/tags"
	"linkledger/httpapi/contract"
)

// keysData is what the page of keys shows.
type keysData struct {
	Keys   []contract.AccountKey
	Added  *contract.AccountKey // the key that was just made; nil: none
	Scopes []string             // that the session can give to a key
}

// keys shows the keys of the account, and one that was just made.
func keys(p *page.Page) error {
	p.Title = "Keys"
	data := keysData{Scopes: p.Session.Scopes}
	var added contract.AccountKey
	if p.Hear(&added) {
		data.Added = &added
	}
	var answer contract.KeysAnswer
	err := p.Get("/v3/keys", nil, &answer)
	data.Keys = answer.Keys
	p.Data = data
	return err
}

// Chosen reports whether chosen contains a scope.
func (keysData) Chosen(chosen []string, scope string) bool { return slices.Contains(chosen, scope) }

// Minutes returns how long a new key is shown.
func (keysData) Minutes() int { return int(forms.SecretKept.Minutes()) }

// addKey adds a key. The page of keys then shows the new key for a while.
func addKey(p *page.Page) error {
	body := contract.KeyPayload{
		Name: p.Form.Get("name"), Scopes: p.Form["scopes"], Tags: p.Form.Get("tags"),
		Networks:       tags.Labels(p.Form.Get("networks"), ","),
		ExpirationDate: p.Form.Get("expiration_date"),
	}
	var added contract.KeysAnswer
	err := p.Call(http.MethodPost, "/v3/keys", body, &added)
	if err == nil && len(added.Keys) > 0 && added.Keys[0].Key != "" {
		p.Told, p.Secret = added.Keys[0], true
	}
	return p.Finish(err, keysPath, "The key is made")
}

func revokeKey(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/keys/"+url.PathEscape(p.C.Param("id")), nil, nil)
	return p.Finish(err, keysPath, "The key is revoked, and its sessions have ended")
}
