package links

// This file shows the list of links, and makes a new link.

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/console/tags"
	"linkledger/httpapi/contract"
)

// linksAnswer answers calls about links.
type linksAnswer = contract.URLsAnswer[link]

// linksData is what the list of links shows.
type linksData struct {
	URLs    []link
	Page    contract.Page
	Wrong   bool // the API refused the filter that was typed
	Query   url.Values
	Pager   pager.Pager
	Changes []change
	New     url.Values // what was typed for a new link
	Labels  []string   // suggestions for the filter
	Meant   string     // label that the text of a wrong filter may mean; empty: none
	Change  url.Values // what was chosen for a change of several links
}

// Ticked reports whether a link was ticked for the change that was refused.
func (d linksData) Ticked(hash string) bool { return slices.Contains(d.Change["hash"], hash) }

// All reports whether the page can change all links that match. The API can select links for a
// change by tags, but not by a search or at a past time.
func (d linksData) All() bool {
	return d.Query.Get("tags") != "" && d.Query.Get("search") == "" && d.Query.Get("at") == ""
}

func (h handler) list(p *page.Page) error {
	p.Title = "Links"
	query := p.Listed("search", "tags", "order_by", "at")
	if at := p.At(); at != "" {
		query.Set("at", at)
	}
	data := linksData{
		Changes: changes, Query: maps.Clone(query), New: p.Typed(Path),
		Change: p.Typed(changePath),
	}
	query.Set("limit", strconv.Itoa(pager.Size))
	var answer linksAnswer
	err := p.Get("/v3/urls", query, &answer)
	if refused, ok := calls.AsRefusal(err); ok && len(data.Query) > 0 {
		// The tag expression or the time is wrong. The form stays as it was typed.
		p.Refuse(refused)
		data.Meant = meantBy(query.Get("tags"))
		err, data.Wrong = nil, true
	}
	if err == nil {
		data.Labels, err = knownLabels(p)
	}
	h.judge(answer.URLs)
	if data.URLs = answer.URLs; answer.Page != nil {
		data.Page = *answer.Page
	}
	data.Pager = p.Paged(Path, data.Query, data.Page)
	p.Data = data
	return err
}

// maxLabels bounds the labels that the filter suggests.
const maxLabels = 200

// knownLabels returns labels of the account, as far as the session may see them.
func knownLabels(p *page.Page) ([]string, error) {
	var answer contract.TagsAnswer
	shown := p.Calls
	err := p.Get("/v3/tags", nil, &answer)
	p.Calls = shown // the page does not show this call
	if _, refused := calls.AsRefusal(err); refused {
		return nil, nil
	}
	known := make([]string, 0, min(maxLabels, len(answer.Tags)))
	for _, tag := range answer.Tags[:min(maxLabels, len(answer.Tags))] {
		known = append(known, tag.Label)
	}
	return known, err
}

// meantBy returns the label that a wrong tag expression may mean: its text, or "" if the text has
// operators.
func meantBy(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "&|~^()<>+,;\"") {
		return ""
	}
	return text
}

// create makes a link and shows it.
func create(p *page.Page) error {
	item := map[string]any{"long_url": WithScheme(strings.TrimSpace(p.Form.Get("long_url")))}
	if hash := strings.TrimSpace(p.Form.Get("custom_hash")); hash != "" {
		item["custom_hash"] = hash
	}
	if labels := tags.Labels(p.Form.Get("tags"), ","); len(labels) > 0 {
		item["tags"] = labels
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

// writeLink creates or edits one link. If the call succeeds but refuses the link, writeLink returns
// that refusal as its error.
func writeLink(p *page.Page, method, path string, item map[string]any) (link, error) {
	var answer linksAnswer
	err := p.Call(method, path, map[string]any{"urls": []any{item}}, &answer)
	if err != nil || len(answer.URLs) == 0 {
		return link{}, err
	}
	if reason := words.Reason(answer.URLs[0].Error); reason != "" {
		return link{}, &calls.RefusedError{Status: http.StatusBadRequest, Text: reason}
	}
	return answer.URLs[0], nil
}
