package console

import (
	"net/http"
	"net/url"
	"time"

	"linkledger/httpapi/console/page"
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

	Added  *keyRecord // it was just made, and is shown once
	Scopes []string
}

func (h *Handler) keys(p *page.Page) error { return h.showKeys(p, nil) }

// showKeys shows the keys of the account, and one that was just made unless it is nil.
func (h *Handler) showKeys(p *page.Page, added *keyRecord) error {
	p.Title = "Keys"
	data := keysData{Added: added, Scopes: p.Session.Scopes}
	err := p.Get("/v3/keys", nil, &data.keysAnswer)
	p.Data = data
	return err
}

// addKey adds a key and shows it. The page answers a POST, because the key can be shown only once.
func (h *Handler) addKey(p *page.Page) error {
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	fields := map[string]any{"name": form.Get("name")}
	if scopes := form["scopes"]; len(scopes) > 0 {
		fields["scopes"] = scopes
	}
	for _, name := range []string{"tags", "expiration_date"} {
		if value := form.Get(name); value != "" {
			fields[name] = value
		}
	}
	if networks := labels(form.Get("networks"), ","); len(networks) > 0 {
		fields["networks"] = networks
	}
	var added keysAnswer
	err = p.Call(http.MethodPost, "/v3/keys", fields, &added)
	if err != nil {
		p.Form = form
		return p.Finish(err, keysPath, h.keys)
	}
	return h.showKeys(p, &added.Keys[0])
}

func (h *Handler) revokeKey(p *page.Page) error {
	p.Redirect = keysPath
	return p.Call(http.MethodDelete, "/v3/keys/"+url.PathEscape(p.C.Param("id")), nil, nil)
}
