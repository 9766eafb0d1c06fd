package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/console/clicks"
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

// By returns who made the call.
func (c callRecord) By() actor {
	made := actor{Key: c.Key, KeyName: c.KeyName, UserName: c.UserName, Via: c.Via}
	if c.User != nil {
		made.User = *c.User
	}
	return made
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
	count := func(n int, of string) {
		format := "%d changes of " + of
		if n == 1 {
			format = "%d change of " + of
		}
		add(n, format)
	}
	count(c.Tags, "tags")
	count(c.Account, "the account, its keys or members")
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

// Parts returns the batches that the undo of a call takes back: of an action of the console that
// made several calls, all of them on the page. It is empty for those that an earlier line names.
func (d activityData) Parts(of callRecord) (batches []string) {
	if of.Via != viaConsole {
		return []string{of.Batch}
	}
	for _, call := range d.Calls {
		if call.Request != of.Request || call.Via != viaConsole || !call.Undoable() ||
			call.Undoes != of.Undoes || call.By().Who() != of.By().Who() {
			continue
		}
		if len(batches) == 0 && call.Batch != of.Batch {
			return nil
		}
		batches = append(batches, call.Batch)
	}
	slices.Reverse(batches) // the first call first
	return batches
}

const viaConsole = "console" // as the API names it

// Together returns what several calls changed that are undone together, for people.
func (d activityData) Together(batches []string) string {
	all := callRecord{URLs: make(map[string]int)}
	for _, call := range d.Calls {
		if slices.Contains(batches, call.Batch) {
			for kind, n := range call.URLs {
				all.URLs[kind] += n
			}
		}
	}
	return all.What()
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
	query := p.Listed("key", "user", "via", "kind", "batch", "request", "from", "to")
	data := activityData{Query: maps.Clone(query)}
	query.Set("limit", strconv.Itoa(page.Size))
	err := clicks.Span{From: query.Get("from"), To: query.Get("to")}.Check()
	if err == nil {
		err = p.Get("/v3/activity", query, &data)
	}
	if refused, ok := page.AsRefusal(err); ok && len(data.Query) > 0 {
		p.Refuse(refused)
		err = nil
	}
	data.Pager = p.Paged(activityPath, data.Query, data.Page)
	p.Data = data
	return err
}
