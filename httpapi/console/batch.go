package console

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
)

// batchData is what the page of a call shows.
type batchData struct {
	Call    *callRecord // nil: it changed nothing that the activity lists
	Changed []struct {
		Hash    string `json:"hash"`
		LongURL string `json:"long_url"`
		Deleted bool   `json:"deleted"`
	} `json:"changed"`
	Page      page.Part `json:"page"`
	Pager     page.Pager
	UndoneKey string // words for the key whose changes the call undoes
}

// batch shows a call and the links that it changed.
func (h *Handler) batch(p *page.Page) error {
	p.Title = "Call"
	batch := p.C.Param("batch")
	var activity activityData
	if err := p.Get("/v3/activity", url.Values{"batch": {batch}}, &activity); err != nil {
		return err
	}
	query := p.Listed()
	query.Set("limit", strconv.Itoa(page.Size))
	var data batchData
	if err := p.Get("/v3/batches/"+url.PathEscape(batch), query, &data); err != nil {
		return err
	}
	if len(activity.Calls) > 0 {
		data.Call = &activity.Calls[0]
	}
	if data.Call == nil && data.Page.Total == 0 {
		return &page.RefusedError{Status: http.StatusNotFound, Text: "There is no such call"}
	}
	if data.Call != nil && data.Call.UndoesKey != "" {
		data.UndoneKey = nameOfKey(p, data.Call.UndoesKey)
	}
	data.Pager = p.Paged(p.Path(), nil, data.Page)
	p.Data = data
	return nil
}

// Instead returns what the call changed in place of links.
func (d batchData) Instead() string {
	var other []string
	if d.Call != nil && d.Call.Tags > 0 {
		other = append(other, "tags")
	}
	if d.Call != nil && d.Call.Account > 0 {
		other = append(other, "the account, its keys or its members")
	}
	if len(other) == 0 {
		return "The call changed no links."
	}
	return "The call changed " + strings.Join(other, " and ") + ", and no links."
}
