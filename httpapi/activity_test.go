package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/response"
)

// summary returns what a call did, in one line.
func summary(c contract.Activity) string {
	words := []string{c.KeyName}
	add := func(n int, kind string) {
		if n > 0 {
			words = append(words, fmt.Sprint(kind, " ", n))
		}
	}
	add(c.URLs.Created, "created")
	add(c.URLs.Edited, "edited")
	add(c.URLs.Deleted, "deleted")
	add(c.URLs.Restored, "restored")
	add(c.URLs.Reset, "reset")
	add(c.Tags, "tags")
	add(c.Account, "account")
	if c.UndoneBy != nil {
		words = append(words, "undone")
	}
	return strings.Join(words, " ")
}

func (c *client) activity(parameters string) (calls []contract.Activity, total int64) {
	c.t.Helper()
	a := c.must("GET", "/v3/activity?"+parameters, "")
	return a.Activity, a.Page.TotalCount
}

// summaries returns the calls of an account, the latest first.
func (c *client) summaries(parameters string) string {
	c.t.Helper()
	calls, _ := c.activity(parameters)
	lines := make([]string, len(calls))
	for i, call := range calls {
		lines[i] = summary(call)
	}
	return strings.Join(lines, "; ")
}

func TestActivity(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	s.client(t, "other").createAll("foreign")
	added := owner.must("POST", "/v3/keys", `{"name":"agent"}`).Keys[0]
	agent := *owner
	agent.key = added.Key
	owner.createAll("one", "two", "three")
	agent.must("PATCH", "/v3/urls?hashes=one,two", `{"urls":[{"note":"n","long_url":"https://example.com/new","tags":["+red"]}]}`)
	deleted := agent.must("DELETE", "/v3/urls/three", "").header.Get(response.HeaderBatchID)
	owner.must("DELETE", "/v3/stats?hashes=one", "")
	owner.must("PATCH", "/v3/tags/red", `{"label":"blue"}`)
	owner.must("DELETE", "/v3/keys/"+added.ID, "")

	equal(t, "activity", owner.summaries(""), " account 1;  tags 1;  reset 1; agent deleted 1; agent edited 2 tags 1; "+
		" created 1;  created 1;  created 1;  account 1")
	equal(t, "that edited", owner.summaries("kind=edited"), "agent edited 2 tags 1")
	equal(t, "that changed tags", owner.summaries("kind=tags"), " tags 1; agent edited 2 tags 1")
	owner.call("GET", "/v3/activity?kind=hidden", "").is(http.StatusBadRequest, apierror.CodeWrongInput)
	equal(t, "of the key", owner.summaries("key="+added.ID), "agent deleted 1; agent edited 2 tags 1")
	calls, total := owner.activity("offset=3&limit=2")
	equal(t, "page", summary(calls[0])+" "+summary(calls[1])+fmt.Sprint(" of ", total), "agent deleted 1 agent edited 2 tags 1 of 9")
	equal(t, "batch", calls[0].Batch, deleted)
	since := calls[1].Time.Format(time.RFC3339Nano)
	equal(t, "before", owner.summaries("to="+since), " created 1;  created 1;  created 1;  account 1")
	equal(t, "from", owner.summaries("limit=2&offset=3&from="+since), "agent deleted 1; agent edited 2 tags 1")

	undo := owner.undo(deleted).header.Get(response.HeaderBatchID)
	equal(t, "after the undo", owner.summaries("limit=1")+", "+owner.summaries("key="+added.ID+"&limit=1"),
		" restored 1, agent deleted 1 undone")
	owner.undo(undo)
	equal(t, "after its undo", owner.summaries("limit=2")+", "+owner.summaries("key="+added.ID+"&limit=1"),
		" deleted 1;  restored 1 undone, agent deleted 1")

	owner.call("GET", "/v3/activity?from=soon", "").is(http.StatusBadRequest, apierror.CodeInvalidDate)
	if got := owner.summaries("key=none"); got != "" {
		t.Errorf("of a key that does not exist: %s", got)
	}
}

// TestUndoKey undoes what a revoked key did since a time, except where others have changed the same
// fields since, and undoes that undo.
func TestUndoKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	added := owner.must("POST", "/v3/keys", `{"name":"agent"}`).Keys[0]
	agent := *owner
	agent.key = added.Key
	owner.createAll("one", "two", "three", "four")
	agent.must("PATCH", "/v3/urls/four", `{"urls":[{"note":"before"}]}`)
	calls, _ := owner.activity("limit=1")
	since := calls[0].Time.Add(time.Microsecond).Format(time.RFC3339Nano)

	agent.must("PATCH", "/v3/urls?hashes=one,two,four", `{"urls":[{"note":"first"}]}`)
	agent.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"second","custom_hash":"moved"}]}`)
	agent.must("DELETE", "/v3/urls/three", "")
	agent.createAll("made")
	owner.must("PATCH", "/v3/urls/two", `{"urls":[{"note":"mine"}]}`)
	owner.must("PATCH", "/v3/urls/moved", `{"urls":[{"archived":true}]}`)
	owner.must("DELETE", "/v3/keys/"+added.ID, "")

	a := owner.call("POST", "/v3/keys/"+added.ID+"/undo?since="+since, "")
	a.is(http.StatusOK, apierror.CodeOK)
	if !strings.Contains(a.body, `"undo":{"key":"`+added.ID+`","undone":4,"refused":1}`) ||
		len(a.URLs) != 1 || a.URLs[0].Hash != "two" || strings.Join(a.URLs[0].Error.Fields, " ") != "note" {
		t.Errorf("undone: %s", a.body)
	}
	equal(t, "note of one", owner.read("one").Note, "")
	equal(t, "what another changed", owner.read("one").Archived, true)
	equal(t, "note of two", owner.read("two").Note, "mine")
	equal(t, "note of four", owner.read("four").Note, "before")
	equal(t, "three", owner.read("three").Hash, "three")
	owner.call("GET", "/v3/urls/made", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	equal(t, "activity", owner.summaries("key="+added.ID),
		"agent created 1 undone; agent deleted 1 undone; agent edited 1 undone; agent edited 3 undone; agent edited 1")

	owner.undo(a.header.Get(response.HeaderBatchID))
	equal(t, "note of moved", owner.read("moved").Note, "second")
	equal(t, "made again", owner.read("made").Hash, "made")
	equal(t, "activity", owner.summaries("key="+added.ID+"&limit=2"), "agent created 1; agent deleted 1")

	owner.call("POST", "/v3/keys/"+added.ID+"/undo", "").is(http.StatusBadRequest, apierror.CodeMissingInput)
	owner.call("POST", "/v3/keys/none/undo?since="+since, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.call("POST", "/v3/keys/"+added.ID+"/undo?since=2100-01-01", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	other := s.client(t, "other")
	other.call("POST", "/v3/keys/"+added.ID+"/undo?since="+since, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
}
