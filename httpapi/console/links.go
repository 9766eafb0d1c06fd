package console

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// linkRecord is a short link as the API answers it.
type linkRecord struct {
	Hash           string     `json:"hash"`
	LongURL        string     `json:"long_url"`
	ShortURL       string     `json:"short_url"`
	Address        string     `json:"short_url_with_protocol"`
	TotalClicks    int64      `json:"total_clicks"`
	UniqueClicks   int64      `json:"unique_clicks"`
	LastVisit      *time.Time `json:"last_visit"`
	Note           string     `json:"note"`
	EmailStats     bool       `json:"email_stats"`
	Protected      bool       `json:"protected"`
	Ping           bool       `json:"ping"`
	Archived       bool       `json:"archived"`
	ExpirationDate *string    `json:"expiration_date"`
	MaxClicks      int64      `json:"max_clicks"`
	Tags           []string   `json:"tags"`
	CreatedAt      time.Time  `json:"created_at"`
	ModifiedAt     time.Time  `json:"modified_at"`
	Links          struct {
		QRSmall string `json:"qr_small"`
	} `json:"links"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Details string `json:"details"`
	} `json:"error"`
}

// reason returns why the API refused the link as an item of a batch, or "".
func (l linkRecord) reason() string {
	if l.Error == nil || l.Error.Code == 0 {
		return ""
	}
	return cmp.Or(l.Error.Details, l.Error.Message)
}

// Path returns the path of the page of a link.
func (l linkRecord) Path() string { return linksPath + "/" + url.PathEscape(l.Hash) }

type linksAnswer struct {
	URLs []linkRecord `json:"urls"`
	Page pageRecord   `json:"page"`
}

// pageRecord says which part of a list an answer has.
type pageRecord struct {
	Results int   `json:"results_count"`
	Total   int64 `json:"total_count"`
	Offset  int   `json:"offset"`
}

// linksData is what the list of links shows.
type linksData struct {
	linksAnswer

	Query   url.Values
	Pager   pager
	Changes []change
}

// All reports whether the page can change all links that match. A search selects none in the API.
func (d linksData) All() bool {
	return d.Query.Get("tags") != "" && d.Query.Get("search") == "" && d.Query.Get("at") == ""
}

// pageSize is how many entries a list shows.
const pageSize = 50

// pager leads to the neighbours of a page of a list.
type pager struct {
	First, Last         int    // numbers of the entries, from 1
	Previous, Following string // addresses; empty: none
}

// newPager returns the pager of a page of a list with a query.
func newPager(path string, query url.Values, at pageRecord) pager {
	to := func(offset int) string {
		other := make(url.Values)
		for name, values := range query {
			other[name] = values
		}
		other.Set("offset", strconv.Itoa(offset))
		return path + "?" + other.Encode()
	}
	p := pager{First: at.Offset + 1, Last: at.Offset + at.Results}
	if at.Offset > 0 {
		p.Previous = to(max(0, at.Offset-pageSize))
	}
	if int64(p.Last) < at.Total {
		p.Following = to(p.Last)
	}
	return p
}

// chosen returns the parameters of the page with these names that have a value.
func (p *page) chosen(names ...string) url.Values {
	given, query := p.c.Request.URL.Query(), make(url.Values)
	for _, name := range names {
		if value := strings.TrimSpace(given.Get(name)); value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// start leads to the links. A session without an account leads to the page that offers accounts.
func (h *Handler) start(p *page) error {
	p.redirect = linksPath
	if p.Session.Account == nil {
		p.redirect = accountPath
	}
	return nil
}

func (h *Handler) links(p *page) error {
	p.Title = "Links"
	query := p.chosen("search", "tags", "order_by", "at", "offset")
	data := linksData{Changes: changes, Query: maps.Clone(query)}
	query.Set("limit", strconv.Itoa(pageSize))
	err := p.get("/v3/urls", query, &data.linksAnswer)
	if refused, ok := errors.AsType[*refusal](err); ok && len(data.Query) > 0 {
		// A wrong tag expression or time: the form stays as it was typed.
		p.Refused, p.status, err = refused.text, refused.status, nil
	}
	data.Pager = newPager(linksPath, data.Query, data.Page)
	p.Data = data
	return err
}

// createLink makes a link and shows it. A refusal is shown above what was typed.
func (h *Handler) createLink(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	item := map[string]any{"long_url": strings.TrimSpace(form.Get("long_url"))}
	if hash := strings.TrimSpace(form.Get("custom_hash")); hash != "" {
		item["custom_hash"] = hash
	}
	if tags := labels(form.Get("tags")); len(tags) > 0 {
		item["tags"] = tags
	}
	if note := form.Get("note"); note != "" {
		item["note"] = note
	}
	made, err := p.writeLink(http.MethodPost, "/v3/urls", item)
	if refused, ok := errors.AsType[*refusal](err); ok {
		p.Form = form
		err = h.links(p)
		p.Refused, p.status = refused.text, refused.status
		return err
	}
	p.redirect = made.Path()
	return err
}

// writeLink creates or edits one link. A refusal of the link is a refusal of the call.
func (p *page) writeLink(method, path string, item map[string]any) (linkRecord, error) {
	var answer linksAnswer
	err := p.call(method, path, map[string]any{"urls": []any{item}}, &answer)
	if err != nil || len(answer.URLs) == 0 {
		return linkRecord{}, err
	}
	if reason := answer.URLs[0].reason(); reason != "" {
		return linkRecord{}, &refusal{status: http.StatusBadRequest, text: reason}
	}
	return answer.URLs[0], nil
}

// labels returns the labels in a text with commas in between.
func labels(text string) []string {
	var list []string
	for label := range strings.SplitSeq(text, ",") {
		if label = strings.TrimSpace(label); label != "" {
			list = append(list, label)
		}
	}
	return list
}
