package redirect_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"linkledger/httpapi/httpapitest"
	"linkledger/internal/soak"
)

// TestRedirectsFollowEveryAnsweredChange checks that no redirect after a confirmed change shows an
// earlier state, even while many visitors load the link into memory.
func TestRedirectsFollowEveryAnsweredChange(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/0","custom_hash":"one"`)
	ctx, stop := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for range 2 {
		crowd.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.Visit(t, "HEAD", []string{"/one", "/two"}[i%2])
			}
		})
	}
	leads := func(hash, to string) {
		t.Helper()
		a := s.Visit(t, "HEAD", "/"+hash)
		httpapitest.Equal(t, hash+" leads to", a.Header.Get("Location"), to)
		httpapitest.Equal(t, "status", a.Status, map[bool]int{true: http.StatusNotFound, false: http.StatusFound}[to == ""])
	}
	hash, other := "one", "two"
	for i := range soak.N(8, 40) {
		long := fmt.Sprintf("https://example.com/%d", i)
		c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"long_url":"`+long+`"}]}`)
		leads(hash, long)
		c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"custom_hash":"`+other+`"}]}`)
		hash, other = other, hash
		leads(hash, long)
		leads(other, "")
	}
	c.Must("DELETE", "/v3/urls/"+hash, "")
	httpapitest.Equal(t, "status after the deletion", s.Visit(t, "HEAD", "/"+hash).Status, http.StatusGone)
	c.Create(`"long_url":"https://example.com/again","custom_hash":"` + hash + `"`)
	leads(hash, "https://example.com/again")
	s.Deactivate(t, "alice")
	httpapitest.Equal(t, "status after the deactivation", s.Visit(t, "HEAD", "/"+hash).Status, http.StatusGone)
	stop()
	crowd.Wait()
}

// TestRedirectsWithoutTheDatabase checks that links redirect while the database is unavailable: links in memory, and
// others from the log. Without the log too, links in memory redirect no more, because no click would be durable, and no
// answer says that a link does not exist.
func TestRedirectsWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"known"`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"unknown"`)
	s.AwaitNotifications(t) // otherwise a late notification of the creation would remove the link from memory
	httpapitest.Equal(t, "status before", s.Visit(t, "GET", "/known").Status, http.StatusFound)
	s.DB.Pool.Close()
	for range 20 {
		httpapitest.Equal(t, "status of a link in memory", s.Visit(t, "GET", "/known").Status, http.StatusFound)
	}
	httpapitest.Equal(t, "status of a link that is not in memory", s.Visit(t, "GET", "/unknown").Status, http.StatusFound)
	httpapitest.Equal(t, "status of a link that never was", s.Visit(t, "GET", "/never").Status, http.StatusNotFound)
	s.Events.Stop()
	httpapitest.Equal(t, "status without both stores", s.Visit(t, "GET", "/unknown").Status, http.StatusServiceUnavailable)
	httpapitest.Equal(t, "status without both stores", s.Visit(t, "GET", "/never").Status, http.StatusServiceUnavailable)
}
