package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
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
	case a.Key != "":
		return "key " + a.Key
	}
	return "the account" // as versions of before recorded it
}

// linkData is what the page of a link shows.
type linkData struct {
	Hash    string
	At      string      // the link is shown as it was then; empty: as it is
	Link    *linkRecord // nil: it is deleted
	Edit    url.Values  // the fields of the form that edits it
	Clicks  clicks.Clicks
	History []entry
	Shown   url.Values // the part of the history that is shown, as the API takes it
	Pager   page.Pager // of the history
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
		data.Link, data.Edit = &found.URLs[0], p.Form
		if data.Edit == nil {
			data.Edit = editOf(data.Link)
		}
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
	if gone && len(data.History) == 0 {
		return refused
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
	}
	if len(found.URLs) > 0 {
		data.Link = &found.URLs[0]
	}
	p.Data = data
	return err
}

type historyAnswer struct {
	History struct {
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
	if at, err := strconv.Atoi(p.Query().Get("offset")); err == nil && int64(at) < part.Total {
		part.Offset = max(0, at) // counted from the latest
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
	data.Pager = page.NewPager(linkPath(p), nil, part)
	// That a hash is taken or free again tells nothing new, unless another account did it.
	data.History = slices.DeleteFunc(found.History.Events, func(e entry) bool {
		return strings.HasPrefix(e.Type, "hash.") && e.Actor.Kind != "foreign"
	})
	slices.Reverse(data.History)
	return nil
}

func linkPath(p *page.Page) string { return linksPath + "/" + url.PathEscape(p.C.Param("hash")) }

func (h *Handler) deleteLink(p *page.Page) error {
	err := p.Call(http.MethodDelete, "/v3/urls/"+url.PathEscape(p.C.Param("hash")), nil, nil)
	return p.Finish(err, linkPath(p), h.link)
}

func (h *Handler) restoreLink(p *page.Page) error {
	path := "/v3/urls/" + url.PathEscape(p.C.Param("hash")) + "/restore"
	return p.Finish(p.Call(http.MethodPost, path, map[string]any{}, nil), linkPath(p), h.link)
}

// undoOnLink undoes the call that a line of the history belongs to.
func (h *Handler) undoOnLink(p *page.Page) error {
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	p.NameRequest(form)
	return p.Finish(undoBatch(p, form.Get("batch")), linkPath(p), h.link)
}

// undoBatch undoes a call. It fails with a *page.RefusedError also if some of its changes could not
// be undone.
func undoBatch(p *page.Page, batch string) error {
	var answer struct {
		Undo struct {
			Undone  int `json:"undone"`
			Refused int `json:"refused"`
		} `json:"undo"`
		URLs []linkRecord `json:"urls"`
	}
	err := p.Call(http.MethodPost, "/v3/batches/"+url.PathEscape(batch)+"/undo", nil, &answer)
	if err != nil || answer.Undo.Refused == 0 {
		return err
	}
	reasons := []string{fmt.Sprintf("%d undone, %d not", answer.Undo.Undone, answer.Undo.Refused)}
	for _, u := range answer.URLs {
		reasons = append(reasons, u.Hash+": "+u.reason())
	}
	return &page.RefusedError{Status: http.StatusConflict, Text: strings.Join(reasons, ". ")}
}
