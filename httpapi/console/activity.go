package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// callRecord is a call that changed something, as the API answers it.
type callRecord struct {
	Batch    string         `json:"batch"`
	Time     time.Time      `json:"time"`
	Key      string         `json:"key"`
	KeyName  string         `json:"key_name"`
	User     *string        `json:"user"`
	UserName string         `json:"user_name"`
	Via      string         `json:"via"`
	URLs     map[string]int `json:"urls"`
	Tags     int            `json:"tags"`
	Account  int            `json:"account"`
	Undoes   string         `json:"undoes"`
	UndoneBy *string        `json:"undone_by"`
}

// Who returns who made the call, for people.
func (c callRecord) Who() string {
	made := actor{Key: c.Key, KeyName: c.KeyName, UserName: c.UserName}
	if c.User != nil {
		made.User = *c.User
	}
	return made.Who()
}

// What returns what the call changed, for people.
func (c callRecord) What() string {
	var words []string
	add := func(n int, format string) {
		if n > 0 {
			words = append(words, fmt.Sprintf(format, n))
		}
	}
	for _, kind := range []string{"created", "edited", "deleted", "restored", "reset"} {
		add(c.URLs[kind], "%d "+kind)
	}
	add(c.Tags, "tags: %d")
	add(c.Account, "account: %d")
	return strings.Join(words, ", ")
}

// Undoable reports whether the call changed links and is not undone.
func (c callRecord) Undoable() bool {
	links := 0
	for _, n := range c.URLs {
		links += n
	}
	return links > 0 && c.UndoneBy == nil
}

type activityData struct {
	Calls []callRecord `json:"activity"`
	Page  pageRecord   `json:"page"`
	Query url.Values   `json:"-"`
	Pager pager
}

func (h *Handler) activity(p *page) error {
	p.Title = "Activity"
	data := activityData{Query: p.chosen("key", "user", "via", "from", "to", "offset")}
	query := p.chosen("key", "user", "via", "from", "to", "offset")
	query.Set("limit", strconv.Itoa(pageSize))
	err := p.get("/v3/activity", query, &data)
	if refused, ok := errors.AsType[*refusal](err); ok && len(data.Query) > 0 {
		p.Refused, p.status, err = refused.text, refused.status, nil
	}
	data.Pager = newPager(activityPath, data.Query, data.Page)
	p.Data = data
	return err
}

func (h *Handler) undo(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	err = p.undoBatch(form.Get("batch"))
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		p.redirect = activityPath
		return err
	}
	err = h.activity(p)
	p.Refused, p.status = refused.text, refused.status
	return err
}

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

func (h *Handler) keys(p *page) error {
	p.Title = "Keys"
	data := keysData{Scopes: p.Session.Scopes}
	err := p.get("/v3/keys", nil, &data.keysAnswer)
	p.Data = data
	return err
}

// addKey adds a key and shows it. The page answers a POST, because the key can be shown only once.
func (h *Handler) addKey(p *page) error {
	form, err := p.form()
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
	if networks := labels(form.Get("networks")); len(networks) > 0 {
		fields["networks"] = networks
	}
	var added keysAnswer
	err = p.call(http.MethodPost, "/v3/keys", fields, &added)
	refused, ok := errors.AsType[*refusal](err)
	if err != nil && !ok {
		return err
	}
	if err := h.keys(p); err != nil {
		return err
	}
	if ok {
		p.Form, p.Refused, p.status = form, refused.text, refused.status
		return nil
	}
	data := p.Data.(keysData) //nolint:forcetypeassert // keys has just set it
	data.Added = &added.Keys[0]
	p.Data = data
	return nil
}

func (h *Handler) revokeKey(p *page) error {
	p.redirect = Root + "/keys"
	return p.call(http.MethodDelete, "/v3/keys/"+url.PathEscape(p.c.Param("id")), nil, nil)
}
