package links

// This file has the page of a link.

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/audit"
	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
)

// link is a short link with the states that pages show.
type link struct {
	contract.URL

	Is   []string `json:"-"` // the states that a list shows, from judge
	Ends string   `json:"-"` // why the link does not redirect; empty: it does
}

// Path returns the path of the page of a link.
func (l link) Path() string { return PathOf(l.Hash) }

// TotalClicks returns the clicks of a link. It is nil if the caller may not see clicks.
func (l link) TotalClicks() *int64 {
	if l.Clicks == nil {
		return nil
	}
	return &l.Clicks.TotalClicks
}

// UniqueClicks is TotalClicks for the number of visitors.
func (l link) UniqueClicks() *int64 {
	if l.Clicks == nil {
		return nil
	}
	return &l.Clicks.UniqueClicks
}

// LastVisit returns when a link was followed last. It is nil if the link was never followed, or if
// the caller may not see clicks.
func (l link) LastVisit() *contract.Timestamp {
	if l.Clicks == nil {
		return nil
	}
	return l.Clicks.LastVisit
}

// linkData is what the page of a link shows.
type linkData struct {
	Hash    string
	At      string     // a past time at which the link is shown; empty: now
	Other   string     // the other hash that the link had at the time At; empty: none is known
	Link    *link      // nil: no link has the hash
	Gone    audit.Gone // what became of the link that had the hash
	Edit    url.Values // the fields of the form that edits the link
	Clicks  clicks.Clicks
	History audit.History
	// Meanwhile has the values, in words, that another change has saved while the form was open.
	// The keys are the names of the fields that were not saved because of that change.
	Meanwhile map[string]string
}

func (h handler) show(p *page.Page) error {
	hash := p.C.Param("hash")
	path := linkCall(p)
	p.Title = hash
	if at := p.At(); at != "" {
		return linkAt(p, path, linkData{Hash: hash, At: at})
	}
	data := linkData{Hash: hash}
	var found linksAnswer
	err := p.Get(path, nil, &found)
	refused, gone := calls.AsRefusal(err)
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
	if p.Watched { // the part that is watched does not show the history
		p.Data = data
		return nil
	}
	if data.History, err = audit.Read(p, hash, linkPath(p)); err != nil || p.Redirect != "" {
		return err
	}
	if gone && len(data.History.Entries) == 0 {
		return refused
	}
	if gone {
		var late bool
		if data.Gone, late = data.History.Gone(); late {
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
	if refused, ok := calls.AsRefusal(err); ok && refused.Code != apierror.CodeInvalidKey {
		p.Refuse(refused)
		err = nil
		data.Other = audit.Elsewhere(p, data.Hash, data.At)
	}
	if len(found.URLs) > 0 {
		data.Link = &found.URLs[0]
	}
	p.Data = data
	return err
}

// state is a flag of a link that is set. Since is when it was set, or zero if the page's part of
// the history does not say so.
type state struct {
	Text  string
	Since time.Time
}

// States returns the flags of the link that are set, with their meanings.
func (d linkData) States() (set []state) {
	for _, s := range slices.Backward(d.Link.Flags()) {
		if s.Text != "" {
			set = append(set, state{s.Means(), d.History.Since(s.Name)})
		}
	}
	return set
}

func remove(p *page.Page) error {
	err := p.Call(http.MethodDelete, linkCall(p), nil, nil)
	return p.FinishUndoable(err, linkPath(p), "The link is deleted")
}

func restore(p *page.Page) error {
	err := p.Call(http.MethodPost, linkCall(p)+"/restore", contract.Restoration{}, nil)
	return p.FinishUndoable(err, linkPath(p), "The link is restored")
}
