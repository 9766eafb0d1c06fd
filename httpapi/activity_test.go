package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
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

func activityOf(c *httpapitest.Client, parameters string) (calls []contract.Activity, total int64) {
	c.T.Helper()
	a := c.Must("GET", "/v3/activity?"+parameters, "")
	return a.Activity, a.Page.TotalCount
}

// summaries returns the calls of an account, the latest first.
func summaries(c *httpapitest.Client, parameters string) string {
	c.T.Helper()
	calls, _ := activityOf(c, parameters)
	lines := make([]string, len(calls))
	for i, call := range calls {
		lines[i] = summary(call)
	}
	return strings.Join(lines, "; ")
}

func TestActivity(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	s.Client(t, "other").CreateAll("foreign")
	added := owner.Must("POST", "/v3/keys", `{"name":"agent"}`).Keys[0]
	agent := *owner
	agent.Key = added.Key
	owner.CreateAll("one", "two", "three")
	agent.Must("PATCH", "/v3/urls?hashes=one,two", `{"urls":[{"note":"n","long_url":"https://example.com/new","tags":["+red"]}]}`)
	deleted := agent.Must("DELETE", "/v3/urls/three", "").Header.Get(response.HeaderBatchID)
	owner.Must("DELETE", "/v3/stats?hashes=one", "")
	owner.Must("PATCH", "/v3/tags/red", `{"label":"blue"}`)
	owner.Must("DELETE", "/v3/keys/"+added.ID, "")

	httpapitest.Equal(t, "activity", summaries(owner, ""), " account 1;  tags 1;  reset 1; agent deleted 1; agent edited 2 tags 1; "+
		" created 1;  created 1;  created 1;  account 1")
	httpapitest.Equal(t, "that edited", summaries(owner, "kind=edited"), "agent edited 2 tags 1")
	httpapitest.Equal(t, "that changed tags", summaries(owner, "kind=tags"), " tags 1; agent edited 2 tags 1")
	owner.Call("GET", "/v3/activity?kind=hidden", "").Is(http.StatusBadRequest, apierror.CodeWrongInput)
	httpapitest.Equal(t, "of the key", summaries(owner, "key="+added.ID), "agent deleted 1; agent edited 2 tags 1")
	calls, total := activityOf(owner, "offset=3&limit=2")
	httpapitest.Equal(t, "page", summary(calls[0])+" "+summary(calls[1])+fmt.Sprint(" of ", total), "agent deleted 1 agent edited 2 tags 1 of 9")
	httpapitest.Equal(t, "batch", calls[0].Batch, deleted)
	since := calls[1].Time.Format(time.RFC3339Nano)
	httpapitest.Equal(t, "before", summaries(owner, "to="+since), " created 1;  created 1;  created 1;  account 1")
	httpapitest.Equal(t, "from", summaries(owner, "limit=2&offset=3&from="+since), "agent deleted 1; agent edited 2 tags 1")

	undo := owner.Undo(deleted).Header.Get(response.HeaderBatchID)
	httpapitest.Equal(t, "after the undo", summaries(owner, "limit=1")+", "+summaries(owner, "key="+added.ID+"&limit=1"),
		" restored 1, agent deleted 1 undone")
	owner.Undo(undo)
	httpapitest.Equal(t, "after its undo", summaries(owner, "limit=2")+", "+summaries(owner, "key="+added.ID+"&limit=1"),
		" deleted 1;  restored 1 undone, agent deleted 1")

	owner.Call("GET", "/v3/activity?from=soon", "").Is(http.StatusBadRequest, apierror.CodeInvalidDate)
	if got := summaries(owner, "key=none"); got != "" {
		t.Errorf("of a key that does not exist: %s", got)
	}
}

// TestUndoKey undoes what a revoked key did since a time, except where others have changed the same
// fields since, and undoes that undo.
func TestUndoKey(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	added := owner.Must("POST", "/v3/keys", `{"name":"agent"}`).Keys[0]
	agent := *owner
	agent.Key = added.Key
	owner.CreateAll("one", "two", "three", "four")
	agent.Must("PATCH", "/v3/urls/four", `{"urls":[{"note":"before"}]}`)
	calls, _ := activityOf(owner, "limit=1")
	since := calls[0].Time.Add(time.Microsecond).Format(time.RFC3339Nano)

	agent.Must("PATCH", "/v3/urls?hashes=one,two,four", `{"urls":[{"note":"first"}]}`)
	agent.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"second","custom_hash":"moved"}]}`)
	agent.Must("DELETE", "/v3/urls/three", "")
	agent.CreateAll("made")
	owner.Must("PATCH", "/v3/urls/two", `{"urls":[{"note":"mine"}]}`)
	owner.Must("PATCH", "/v3/urls/moved", `{"urls":[{"archived":true}]}`)
	owner.Must("DELETE", "/v3/keys/"+added.ID, "")

	a := owner.Call("POST", "/v3/keys/"+added.ID+"/undo?since="+since, "")
	a.Is(http.StatusOK, apierror.CodeOK)
	if !strings.Contains(a.Body, `"undo":{"key":"`+added.ID+`","undone":4,"refused":1}`) ||
		len(a.URLs) != 1 || a.URLs[0].Hash != "two" || strings.Join(a.URLs[0].Error.Fields, " ") != "note" {
		t.Errorf("undone: %s", a.Body)
	}
	httpapitest.Equal(t, "note of one", owner.Read("one").Note, "")
	httpapitest.Equal(t, "what another changed", owner.Read("one").Archived, true)
	httpapitest.Equal(t, "note of two", owner.Read("two").Note, "mine")
	httpapitest.Equal(t, "note of four", owner.Read("four").Note, "before")
	httpapitest.Equal(t, "three", owner.Read("three").Hash, "three")
	owner.Call("GET", "/v3/urls/made", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	httpapitest.Equal(t, "activity", summaries(owner, "key="+added.ID),
		"agent created 1 undone; agent deleted 1 undone; agent edited 1 undone; agent edited 3 undone; agent edited 1")

	owner.Undo(a.Header.Get(response.HeaderBatchID))
	httpapitest.Equal(t, "note of moved", owner.Read("moved").Note, "second")
	httpapitest.Equal(t, "made again", owner.Read("made").Hash, "made")
	httpapitest.Equal(t, "activity", summaries(owner, "key="+added.ID+"&limit=2"), "agent created 1; agent deleted 1")

	owner.Call("POST", "/v3/keys/"+added.ID+"/undo", "").Is(http.StatusBadRequest, apierror.CodeMissingInput)
	owner.Call("POST", "/v3/keys/none/undo?since="+since, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.Call("POST", "/v3/keys/"+added.ID+"/undo?since=2100-01-01", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	other := s.Client(t, "other")
	other.Call("POST", "/v3/keys/"+added.ID+"/undo?since="+since, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
}
