package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is an event of the history of a link.
type entry struct {
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Link     string    `json:"link"`
	Actor    actor     `json:"actor"`
	Batch    string    `json:"batch"`
	Changes  []struct {
		Field  string          `json:"field"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
		Erased bool            `json:"erased"`
	} `json:"changes"`
}

type actor struct {
	Kind     string `json:"kind"`
	Key      string `json:"key"`
	KeyName  string `json:"key_name"`
	User     string `json:"user"`
	UserName string `json:"user_name"`
	Via      string `json:"via"`
}

// Who returns who caused the event, for people.
func (a actor) Who() string {
	switch {
	case a.Kind == "operator":
		return "an operator"
	case a.Kind == "foreign":
		return "another account"
	case a.UserName != "":
		return a.UserName
	case a.User != "":
		return "person " + a.User
	case a.KeyName != "":
		return "key " + a.KeyName
	}
	return "key " + a.Key
}

// day is the clicks of a day.
type day struct {
	Date          string
	Total, Unique int64
}

// linkData is what the page of a link shows.
type linkData struct {
	Hash    string
	Link    *linkRecord // nil: it is deleted
	Days    []day
	Day     string // the dimensions are of this day only; empty: of all
	By      []dimension
	History []entry
	Pager   pager
}

func (h *Handler) link(p *page) error {
	hash := p.c.Param("hash")
	path := "/v3/urls/" + url.PathEscape(hash)
	p.Title = hash
	data := linkData{Hash: hash}
	var found linksAnswer
	err := p.get(path, nil, &found)
	refused, gone := errors.AsType[*refusal](err)
	gone = gone && refused.status == http.StatusNotFound && p.Can("history:read")
	if err != nil && !gone {
		return err
	}
	if len(found.URLs) > 0 {
		data.Link = &found.URLs[0]
		if data.Days, err = p.clicks(hash); err != nil {
			return err
		}
		if len(data.Days) > 0 {
			if err := p.dimensions(path, &data); err != nil {
				return err
			}
		}
	}
	if err := p.history(path, &data); err != nil {
		return err
	}
	if gone && len(data.History) == 0 {
		return refused
	}
	p.Data = data
	return nil
}

// clicks returns the clicks of a link by day.
func (p *page) clicks(hash string) ([]day, error) {
	if !p.Can("stats:read") {
		return nil, nil
	}
	var answer struct {
		Stats []struct {
			Daily map[string]struct {
				Total  int64 `json:"total"`
				Unique int64 `json:"unique"`
			} `json:"daily_clicks"`
		} `json:"stats"`
	}
	err := p.get("/v3/stats/"+url.PathEscape(hash), nil, &answer)
	if err != nil || len(answer.Stats) == 0 {
		return nil, err
	}
	daily := answer.Stats[0].Daily
	days := make([]day, 0, len(daily))
	for _, date := range slices.Sorted(maps.Keys(daily)) {
		days = append(days, day{date, daily[date].Total, daily[date].Unique})
	}
	return days, nil
}

// dimension is the clicks of a link by one of what they tell of their visitors.
type dimension struct {
	Name   string
	Values []dimensionValue
}

type dimensionValue struct {
	Value  string `json:"value"`
	Clicks int64  `json:"clicks"`
}

// Most returns the largest number of clicks of a value.
func (d dimension) Most() (most int64) {
	for _, v := range d.Values {
		most = max(most, v.Clicks)
	}
	return most
}

// maxValues is how many values of a dimension a page shows. The others are counted together.
const maxValues = 8

// dimensions adds the clicks by dimension, of the day that the page names or of all days.
func (p *page) dimensions(path string, data *linkData) error {
	query := url.Values{"limit": {strconv.Itoa(maxValues)}}
	if data.Day = p.c.Request.URL.Query().Get("day"); data.Day != "" {
		query.Set("from", data.Day)
		query.Set("to", data.Day)
	}
	var answer struct {
		Dimensions struct {
			Referrer []dimensionValue `json:"referrer"`
			Country  []dimensionValue `json:"country"`
			Browser  []dimensionValue `json:"browser"`
			OS       []dimensionValue `json:"os"`
			Device   []dimensionValue `json:"device"`
		} `json:"dimensions"`
	}
	if err := p.get(path+"/dimensions", query, &answer); err != nil {
		return err
	}
	d := answer.Dimensions
	for _, by := range []dimension{
		{"Referrer", d.Referrer},
		{"Country", d.Country},
		{"Browser", d.Browser},
		{"System", d.OS},
		{"Device", d.Device},
	} {
		if len(by.Values) > 0 {
			data.By = append(data.By, by)
		}
	}
	return nil
}

// history adds the latest events of a hash, the latest first.
func (p *page) history(path string, data *linkData) error {
	if !p.Can("history:read") || p.Session.Tags != nil {
		return nil
	}
	var answer struct {
		History struct {
			Events []entry `json:"events"`
		} `json:"history"`
		Page pageRecord `json:"page"`
	}
	// The API answers the oldest first, so the total is asked for before the last page.
	query := url.Values{"limit": {"1"}}
	err := p.get(path+"/history", query, &answer)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	query.Set("limit", strconv.Itoa(pageSize))
	query.Set("offset", strconv.FormatInt(max(0, answer.Page.Total-pageSize), 10))
	if err := p.get(path+"/history", query, &answer); err != nil {
		return err
	}
	// That a hash is taken or free again tells nothing new, unless another account did it.
	data.History = slices.DeleteFunc(answer.History.Events, func(e entry) bool {
		return strings.HasPrefix(e.Type, "hash.") && e.Actor.Kind != "foreign"
	})
	slices.Reverse(data.History)
	return nil
}

// settings are the flags that the form of a link has.
var settings = []string{"protected", "archived", "ping", "email_stats"}

// editLink changes what the form has.
func (h *Handler) editLink(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	item := map[string]any{
		"long_url": strings.TrimSpace(form.Get("long_url")), "note": form.Get("note"),
		"expiration_date": form.Get("expiration_date"),
	}
	if hash := strings.TrimSpace(form.Get("custom_hash")); hash != "" && hash != p.c.Param("hash") {
		item["custom_hash"] = hash
	}
	if most, err := strconv.ParseInt(form.Get("max_clicks"), 10, 64); err == nil {
		item["max_clicks"] = most
	}
	for _, name := range settings {
		item[name] = form.Get(name) != ""
	}
	before, after := labels(form.Get("tags_before")), labels(form.Get("tags"))
	if changes := tagChanges(before, after); changes != nil {
		item["tags"] = changes
	}
	path := "/v3/urls/" + url.PathEscape(p.c.Param("hash"))
	edited, err := p.writeLink(http.MethodPatch, path, item)
	return h.onLink(p, edited.Path(), form, err)
}

// tagChanges returns the instructions that lead from some labels to others.
func tagChanges(before, after []string) []string {
	var changes []string
	for _, label := range before {
		if !slices.Contains(after, label) {
			changes = append(changes, "-"+label)
		}
	}
	for _, label := range after {
		if !slices.Contains(before, label) {
			changes = append(changes, "+"+label)
		}
	}
	return changes
}

// onLink leads to a page after an action on a link. If the action was refused, it shows the link
// again, with the reason.
func (h *Handler) onLink(p *page, to string, form url.Values, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		p.redirect = to
		return err
	}
	p.Form = form
	err = h.link(p)
	p.Refused, p.status = refused.text, refused.status
	return err
}

func (p *page) linkPath() string { return linksPath + "/" + url.PathEscape(p.c.Param("hash")) }

func (h *Handler) deleteLink(p *page) error {
	err := p.call(http.MethodDelete, "/v3/urls/"+url.PathEscape(p.c.Param("hash")), nil, nil)
	return h.onLink(p, p.linkPath(), nil, err)
}

func (h *Handler) restoreLink(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	body := map[string]any{}
	if revision, err := strconv.ParseInt(form.Get("revision"), 10, 64); err == nil {
		body["revision"] = revision
	}
	path := "/v3/urls/" + url.PathEscape(p.c.Param("hash")) + "/restore"
	return h.onLink(p, p.linkPath(), nil, p.call(http.MethodPost, path, body, nil))
}

// undoOnLink undoes the call that a line of the history belongs to.
func (h *Handler) undoOnLink(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	return h.onLink(p, p.linkPath(), nil, p.undoBatch(form.Get("batch")))
}

// undoBatch undoes a call. It fails with a *refusal also if some of its changes could not be
// undone.
func (p *page) undoBatch(batch string) error {
	var answer struct {
		Undo struct {
			Undone  int `json:"undone"`
			Refused int `json:"refused"`
		} `json:"undo"`
		URLs []linkRecord `json:"urls"`
	}
	err := p.call(http.MethodPost, "/v3/batches/"+url.PathEscape(batch)+"/undo", nil, &answer)
	if err != nil || answer.Undo.Refused == 0 {
		return err
	}
	reasons := []string{fmt.Sprintf("%d undone, %d not", answer.Undo.Undone, answer.Undo.Refused)}
	for _, u := range answer.URLs {
		reasons = append(reasons, u.Hash+": "+u.reason())
	}
	return &refusal{status: http.StatusConflict, text: strings.Join(reasons, ". ")}
}
