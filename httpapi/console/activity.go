package console

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/console/page"
)

// callRecord is a call that changed something, as the API answers it.
type callRecord struct {
	Batch    string         `json:"batch"`
	Request  string         `json:"request"`
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

	UndoesKey   string     `json:"undoes_key"`
	UndoesSince *time.Time `json:"undoes_since"`

	UndoneBy *string `json:"undone_by"`
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
	Page  page.Part    `json:"page"`
	Query url.Values   `json:"-"`
	Pager page.Pager
}

// Kinds returns what a call can have done, as the API names it.
func (activityData) Kinds() []string {
	return []string{"created", "edited", "deleted", "restored", "reset", "tags", "account"}
}

func (h *Handler) activity(p *page.Page) error {
	p.Title = "Activity"
	query := p.Chosen("key", "user", "via", "kind", "batch", "request", "from", "to", "offset")
	data := activityData{Query: maps.Clone(query)}
	query.Set("limit", strconv.Itoa(page.Size))
	err := p.Get("/v3/activity", query, &data)
	if refused, ok := page.AsRefusal(err); ok && len(data.Query) > 0 {
		p.Refuse(refused)
		err = nil
	}
	data.Pager = page.NewPager(activityPath, data.Query, data.Page)
	p.Data = data
	return err
}

func (h *Handler) undo(p *page.Page) error {
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	p.NameRequest(form)
	return p.Finish(undoBatch(p, form.Get("batch")), activityPath, h.activity)
}
