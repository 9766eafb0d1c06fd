package console

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/contract"
)

// entry is an event of the history of a link.
type entry struct {
	Stream   string    `json:"stream"`
	Revision int64     `json:"revision"`
	Type     string    `json:"type"`
	Time     time.Time `json:"time"`
	Link     string    `json:"link"`
	Hash     string    `json:"-"` // that the link had then, from placeEntries
	Actor    actor     `json:"actor"`
	Batch    string    `json:"batch"`
	Changes  []struct {
		Field  string          `json:"field"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
		Erased bool            `json:"erased"`
	} `json:"changes"`

	// Undoes has in words what the undo of the call takes back of the link. It is empty if another
	// event of the call says it.
	Undoes string `json:"-"`
}

// Makes reports whether the event made the link, so that nothing was before it.
func (e entry) Makes() bool { return strings.HasPrefix(e.Type, "url.created.") }

// linkData is what the page of a link shows.
type linkData struct {
	Hash    string
	At      string      // the link is shown as it was then; empty: as it is
	Other   string      // the hash that the link had then; empty: it is not known to have one
	Link    *linkRecord // nil: no link has the hash
	Gone    gone        // what became of the link that had it
	Edit    url.Values  // the fields of the form that edits it
	Clicks  clicks.Clicks
	History []entry
	Shown   url.Values // the part of the history that is shown, as the API takes it
	Pager   page.Pager // of the history
	// Meanwhile has what others have saved, in words, by the field that was to be saved too.
	Meanwhile map[string]string

	lives []life // of the links that have or had the hash
}

func (h *Handler) link(p *page.Page) error {
	hash := p.C.Param("hash")
	path := "/v3/urls/" + url.PathEscape(hash)
	p.Title = hash
	if at := p.At(); at != "" {
		return linkAt(p, path, linkData{Hash: hash, At: at})
	}
	data := linkData{Hash: hash}
	var found linksAnswer
	err := p.Get(path, nil, &found)
	refused, gone := page.AsRefusal(err)
	gone = gone && refused.Status == http.StatusNotFound && p.Can("history:read")
	if err != nil && !gone {
		return err
	}
	if len(found.URLs) > 0 {
		h.judge(found.URLs)
		data.Link = &found.URLs[0]
		data.Edit = typedOver(editOf(data.Link), p.Typed(linkPath(p)))
		p.Hear(&data.Meanwhile)
		if data.Clicks, err = clicks.Of(p, hash); err != nil {
			return err
		}
	}
	if p.Watched { // the history is not part of what changes meanwhile
		p.Data = data
		return nil
	}
	if err := history(p, path, &data); err != nil {
		return err
	}
	if p.Redirect != "" {
		return nil
	}
	if gone && len(data.History) == 0 {
		return refused
	}
	if gone {
		var late bool
		if data.Gone, late = goneOf(hash, data.lives); late {
			p.Late = true
		}
	}
	p.Data = data
	return nil
}

// linkAt shows the link that used the hash at a time, as it was then.
func linkAt(p *page.Page, path string, data linkData) error {
	var found linksAnswer
	err := p.Get(path, url.Values{"at": {data.At}}, &found)
	if refused, ok := page.AsRefusal(err); ok && refused.Code != apierror.CodeInvalidKey {
		p.Refuse(refused)
		err = nil
		data.Other = elsewhere(p, data.Hash, data.At)
	}
	if len(found.URLs) > 0 {
		data.Link = &found.URLs[0]
	}
	p.Data = data
	return err
}

type historyAnswer struct {
	History struct {
		Links  []life  `json:"links"`
		Events []entry `json:"events"`
	} `json:"history"`
	Page page.Part `json:"page"`
}

// history adds a page of the events of a hash, the latest first.
func history(p *page.Page, path string, data *linkData) error {
	if !p.Can("history:read") || p.Session.Tags != nil {
		return nil
	}
	var answer historyAnswer
	// The API answers the oldest first, so the total is asked for before the last page.
	query := url.Values{"limit": {"1"}}
	err := p.Get(path+"/history", query, &answer)
	if refused, ok := page.AsRefusal(err); ok && refused.Status == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	part := page.Part{Total: answer.Page.Total}
	if at, err := strconv.Atoi(p.Listed().Get("offset")); err == nil {
		part.Offset = at // counted from the latest
	}
	if data.Pager = p.Paged(linkPath(p), nil, part); p.Redirect != "" {
		return nil
	}
	part.Results = int(min(page.Size, part.Total-int64(part.Offset)))
	first := part.Total - int64(part.Offset+part.Results)
	query.Set("limit", strconv.Itoa(max(1, part.Results)))
	query.Set("offset", strconv.FormatInt(first, 10))
	var found historyAnswer
	if err := p.Get(path+"/history", query, &found); err != nil {
		return err
	}
	data.Shown = query
	data.Pager = p.Paged(linkPath(p), nil, part)
	// That a hash is taken or free again tells nothing new, unless another account did it.
	data.History = slices.DeleteFunc(found.History.Events, func(e entry) bool {
		return strings.HasPrefix(e.Type, "hash.") && e.Actor.Kind != "foreign"
	})
	slices.Reverse(data.History)
	nameUndos(data.History)
	placeEntries(data.History, answer.History.Links)
	data.lives = answer.History.Links
	return nil
}

func linkPath(p *page.Page) string { return linksPath + "/" + url.PathEscape(p.C.Param("hash")) }

func (h *Handler) deleteLink(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/urls/"+url.PathEscape(p.C.Param("hash")), nil, nil)
	return p.FinishUndoable(err, linkPath(p), "The link is deleted")
}

func (h *Handler) restoreLink(p *page.Page) error {
	path := "/v3/urls/" + url.PathEscape(p.C.Param("hash")) + "/restore"
	err := p.Call(http.MethodPost, path, contract.Restoration{}, nil)
	return p.FinishUndoable(err, linkPath(p), "The link is restored")
}
