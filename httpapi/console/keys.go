package console

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/contract"
)

// keyRecord is an API key as the API answers it.
type keyRecord struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Scopes         []string   `json:"scopes"`
	Tags           *string    `json:"tags"`
	Networks       []string   `json:"networks"`
	ExpirationDate *string    `json:"expiration_date"`
	CreatedAt      time.Time  `json:"created_at"`
	LastUsed       *time.Time `json:"last_used"`
	Key            string     `json:"key"`
}

type keysAnswer struct {
	Keys []keyRecord `json:"keys"`
}

type keysData struct {
	keysAnswer

	Added  *keyRecord // it was just made
	Scopes []string
}

// keys shows the keys of the account, and one that was just made.
func (h *Handler) keys(p *page.Page) error {
	p.Title = "Keys"
	data := keysData{Scopes: p.Session.Scopes}
	var added keyRecord
	if p.Hear(&added) {
		data.Added = &added
	}
	err := p.Get("/v3/keys", nil, &data.keysAnswer)
	p.Data = data
	return err
}

// Chosen reports whether a scope is among those that were chosen.
func (keysData) Chosen(chosen []string, scope string) bool { return slices.Contains(chosen, scope) }

// Minutes returns how long a new key is shown.
func (keysData) Minutes() int { return int(page.SecretKept.Minutes()) }

// addKey adds a key. The page of keys shows it for a while.
func (h *Handler) addKey(p *page.Page) error {
	body := contract.KeyPayload{
		Name: p.Form.Get("name"), Scopes: p.Form["scopes"], Tags: p.Form.Get("tags"),
		Networks:       labels(p.Form.Get("networks"), ","),
		ExpirationDate: p.Form.Get("expiration_date"),
	}
	var added keysAnswer
	err := p.Call(http.MethodPost, "/v3/keys", body, &added)
	if err == nil && len(added.Keys) > 0 && added.Keys[0].Key != "" {
		p.Told, p.Secret = added.Keys[0], true
	}
	return p.Finish(err, keysPath, "The key is made")
}

func (h *Handler) revokeKey(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/keys/"+url.PathEscape(p.C.Param("id")), nil, nil)
	return p.Finish(err, keysPath, "The key is revoked, and its sessions have ended")
}
