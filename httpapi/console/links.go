package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/console/page"
)

// linkRecord is a short link as the API answers it.
type linkRecord struct {
	Hash           string     `json:"hash"`
	LongURL        string     `json:"long_url"`
	ShortURL       string     `json:"short_url"`
	Address        string     `json:"short_url_with_protocol"`
	TotalClicks    *int64     `json:"total_clicks"` // nil: the caller may not see clicks
	UniqueClicks   *int64     `json:"unique_clicks"`
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
	Is    []string `json:"-"` // the states that a list shows, from judge
	Ends  string   `json:"-"` // why the link does not redirect; empty: it does
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
	return page.Refusal(cmp.Or(l.Error.Details, l.Error.Message))
}

// Path returns the path of the page of a link.
func (l linkRecord) Path() string { return linksPath + "/" + url.PathEscape(l.Hash) }

type linksAnswer struct {
	URLs []linkRecord `json:"urls"`
	Page page.Part    `json:"page"`
}

// linksData is what the list of links shows.
type linksData struct {
	linksAnswer

	Wrong   bool // the list could not be asked for as it was typed
	Query   url.Values
	Pager   page.Pager
	Changes []change
	New     url.Values // what was typed for a new link
	Labels  []string   // suggestions for the filter
	Meant   string     // label that the text of a wrong filter may mean; empty: none
	Change  url.Values // what was chosen for a change of several links
}

// Ticked reports whether a link was ticked for the change that was refused.
func (d linksData) Ticked(hash string) bool { return slices.Contains(d.Change["hash"], hash) }

// All reports whether the page can change all links that match. A search selects none in the API.
func (d linksData) All() bool {
	return d.Query.Get("tags") != "" && d.Query.Get("search") == "" && d.Query.Get("at") == ""
}

// start leads to the links. A session without an account leads to the page that offers accounts.
func (h *Handler) start(p *page.Page) error {
	p.Redirect = linksPath
	return nil
}

func (h *Handler) links(p *page.Page) error {
	p.Title = "Links"
	query := p.Listed("search", "tags", "order_by", "at")
	if at := p.At(); at != "" {
		query.Set("at", at)
	}
	data := linksData{
		Changes: changes, Query: maps.Clone(query), New: p.Typed(linksPath),
		Change: p.Typed(changePath),
	}
	query.Set("limit", strconv.Itoa(page.Size))
	err := p.Get("/v3/urls", query, &data.linksAnswer)
	if refused, ok := page.AsRefusal(err); ok && len(data.Query) > 0 {
		// A wrong tag expression or time: the form stays as it was typed.
		p.Refuse(refused)
		data.Meant = meantBy(query.Get("tags"))
		err, data.Wrong = nil, true
	}
	if err == nil {
		data.Labels, err = knownLabels(p)
	}
	h.judge(data.URLs)
	data.Pager = p.Paged(linksPath, data.Query, data.Page)
	p.Data = data
	return err
}

// maxLabels bounds the labels that the filter suggests.
const maxLabels = 200

// knownLabels returns labels of the account, as far as the session may see them.
func knownLabels(p *page.Page) ([]string, error) {
	var data tagsData
	calls := p.Calls
	err := p.Get("/v3/tags", nil, &data)
	p.Calls = calls // the suggestions are no part of the list
	if _, refused := page.AsRefusal(err); refused {
		return nil, nil
	}
	known := make([]string, 0, min(maxLabels, len(data.Tags)))
	for _, tag := range data.Tags[:min(maxLabels, len(data.Tags))] {
		known = append(known, tag.Label)
	}
	return known, err
}

// meantBy returns the label that somebody may mean by a text that is no tag expression, or "".
func meantBy(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "&|~^()<>+,;\"") {
		return ""
	}
	return text
}

// createLink makes a link and shows it.
func (h *Handler) createLink(p *page.Page) error {
	item := map[string]any{"long_url": withScheme(strings.TrimSpace(p.Form.Get("long_url")))}
	if hash := strings.TrimSpace(p.Form.Get("custom_hash")); hash != "" {
		item["custom_hash"] = hash
	}
	if tags := labels(p.Form.Get("tags"), ","); len(tags) > 0 {
		item["tags"] = tags
	}
	for _, name := range []string{"note", "expiration_date"} {
		if value := strings.TrimSpace(p.Form.Get(name)); value != "" {
			item[name] = value
		}
	}
	if err := checkNote(item); err != nil {
		return err
	}
	made, err := writeLink(p, http.MethodPost, "/v3/urls", item)
	return p.FinishUndoable(err, made.Path(), "The link is made")
}

// writeLink creates or edits one link. A refusal of the link is a refusal of the call.
func writeLink(p *page.Page, method, path string, item map[string]any) (linkRecord, error) {
	var answer linksAnswer
	err := p.Call(method, path, map[string]any{"urls": []any{item}}, &answer)
	if err != nil || len(answer.URLs) == 0 {
		return linkRecord{}, err
	}
	if reason := answer.URLs[0].reason(); reason != "" {
		return linkRecord{}, &page.RefusedError{Status: http.StatusBadRequest, Text: reason}
	}
	return answer.URLs[0], nil
}
