package audit

// This file lists the calls that changed something.

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/pager"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
)

// what returns the changes of a call in words.
func what(c contract.Activity) string {
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	add(c.URLs.Created, "%d created")
	add(c.URLs.Edited, "%d edited")
	add(c.URLs.Deleted, "%d deleted")
	add(c.URLs.Restored, "%d restored")
	add(c.URLs.Reset, "%d reset")
	count := func(n int, of string) {
		format := "%d changes of " + of
		if n == 1 {
			format = "%d change of " + of
		}
		add(n, format)
	}
	count(c.Tags, "tags")
	count(c.Account, "the account, its keys or members")
	return strings.Join(parts, ", ")
}

// undoable reports whether a call changed links and is not undone.
func undoable(c contract.Activity) bool {
	return c.URLs != contract.ActivityURLs{} && c.UndoneBy == nil
}

type activityData struct {
	Calls []contract.Activity
	Page  contract.Page
	Query url.Values
	Pager pager.Pager
}

// Kinds returns the kinds of calls, as the API names them.
func (activityData) Kinds() []string {
	return []string{"created", "edited", "deleted", "restored", "reset", "tags", "account"}
}

// Parts returns the batches that the undo button of a call undoes. If the page lists several calls
// that one action of the console has made, one button undoes them together: for the call that is
// listed first, Parts returns the batches of all these calls, and for the other calls it returns
// nil.
func (d activityData) Parts(of contract.Activity) (batches []string) {
	if of.Via != viaConsole {
		return []string{of.Batch}
	}
	for _, call := range d.Calls {
		if call.Request != of.Request || call.Via != viaConsole || !undoable(call) ||
			call.Undoes != of.Undoes || words.Who(call) != words.Who(of) {
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

// Together returns in words the changes of several calls that are undone together.
func (d activityData) Together(batches []string) string {
	var all contract.Activity
	for _, call := range d.Calls {
		if slices.Contains(batches, call.Batch) {
			all.URLs.Created += call.URLs.Created
			all.URLs.Edited += call.URLs.Edited
			all.URLs.Deleted += call.URLs.Deleted
			all.URLs.Restored += call.URLs.Restored
			all.URLs.Reset += call.URLs.Reset
		}
	}
	return what(all)
}

func activity(p *page.Page) error {
	p.Title = "Activity"
	query := p.Listed("key", "user", "via", "kind", "batch", "request", "from", "to")
	data := activityData{Query: maps.Clone(query)}
	query.Set("limit", strconv.Itoa(pager.Size))
	var answer contract.ActivityAnswer
	err := clicks.Span{From: query.Get("from"), To: query.Get("to")}.Check()
	if err == nil {
		err = p.Get("/v3/activity", query, &answer)
	}
	if refused, ok := calls.AsRefusal(err); ok && len(data.Query) > 0 {
		p.Refuse(refused)
		err = nil
	}
	data.Calls, data.Page = answer.Activity, answer.Page
	data.Pager = p.Paged(ActivityPath, data.Query, data.Page)
	p.Data = data
	return err
}
