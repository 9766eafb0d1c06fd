package audit

// This file shows one call, and the links that it changed.

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// batchData is what the page of a call shows.
type batchData struct {
	Call      *contract.Activity // nil: the activity does not have the call
	Changed   []contract.ChangedURL
	Pager     pager.Pager
	UndoneKey string // words for the key whose changes the call undoes
}

// batch shows a call and the links that it changed.
func batch(p *page.Page) error {
	p.Title = "Call"
	id := p.C.Param("batch")
	var made contract.ActivityAnswer
	if err := p.Get("/v3/activity", url.Values{"batch": {id}}, &made); err != nil {
		return err
	}
	query := p.Listed()
	query.Set("limit", strconv.Itoa(pager.Size))
	var changed contract.ChangedURLsAnswer
	if err := p.Get("/v3/batches/"+url.PathEscape(id), query, &changed); err != nil {
		return err
	}
	data := batchData{Changed: changed.Changed}
	if len(made.Activity) > 0 {
		data.Call = &made.Activity[0]
	}
	if data.Call == nil && changed.Page.TotalCount == 0 {
		return &calls.RefusedError{Status: http.StatusNotFound, Text: "There is no such call"}
	}
	if data.Call != nil && data.Call.UndoesKey != "" {
		data.UndoneKey = nameOfKey(p, data.Call.UndoesKey)
	}
	data.Pager = p.Paged(p.Path(), nil, changed.Page)
	p.Data = data
	return nil
}

// Instead returns a sentence about a call that changed no links. It says what the call changed.
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

// nameOfKey returns words for a key. It reads the name of the key from the activity, because the
// key may be revoked.
func nameOfKey(p *page.Page, key string) string {
	named := contract.Actor{Key: key}
	var made contract.ActivityAnswer
	err := p.Get("/v3/activity", url.Values{"key": {key}, "limit": {"1"}}, &made)
	if err == nil && len(made.Activity) > 0 { // an error is no reason to refuse the page
		named.KeyName = made.Activity[0].KeyName
	}
	return words.Who(named)
}

// changedBy returns how many links a call changed.
func changedBy(p *page.Page, batch string) (int, error) {
	var changed contract.ChangedURLsAnswer
	err := p.Get("/v3/batches/"+url.PathEscape(batch), url.Values{"limit": {"1"}}, &changed)
	return int(changed.Page.TotalCount), err
}

// ChangedByLast returns how many links the last call of an action has changed. known is false if
// the session may not see that, or if it cannot be found out.
func ChangedByLast(p *page.Page) (n int, known bool) {
	batch := p.LastBatch()
	if batch == "" || !mayRead(p) {
		return 0, false
	}
	shown := p.Calls
	n, err := changedBy(p, batch)
	p.Calls = shown // the page does not show this call
	if refused, ok := calls.AsRefusal(err); ok && refused.Status == http.StatusNotFound {
		return 0, true
	}
	return n, err == nil
}
