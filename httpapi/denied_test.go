package httpapi_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// TestAnsweredIsNeverDenied changes links and their account while the projections are paused. It checks that visitors
// get what was answered, and that a link that is gone does not come back.
func TestAnsweredIsNeverDenied(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, httpapitest.Impatient)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	visits := func(hash string, want int) {
		t.Helper()
		if got := s.Visit(t, "GET", "/"+hash).Status; got != want {
			t.Errorf("%s is answered %d; want %d", hash, got, want)
		}
	}
	for _, hash := range []string{"old", "gone", "spent", "late"} {
		c.Create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	c.Must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":1}]}`)
	c.Must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-13"}]}`)
	c.Must("DELETE", "/v3/urls/gone", "")
	s.CatchUp(t)
	visits("gone", http.StatusGone)
	visits("late", http.StatusGone)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)
	visits("new", http.StatusNotFound)

	s.Pause(t, projections.Links, projections.Accounts)
	visits("new", http.StatusNotFound)
	c.Create(`"long_url":"https://example.com/new","custom_hash":"new","note":"a note"`)
	visits("new", http.StatusFound)
	httpapitest.Equal(t, "destination", s.Visit(t, "HEAD", "/new").Header.Get("Location"), "https://example.com/new")
	httpapitest.Equal(t, "image", s.Visit(t, "GET", "/new/qr.png").Status, http.StatusOK)
	generated := c.Create(`"long_url":"https://example.com/"`).Hash
	visits(generated, http.StatusFound)
	visits("never", http.StatusNotFound)

	read := c.Must("GET", "/v3/urls/new", "").URLs[0]
	httpapitest.Equal(t, "record", *read.LongURL+" "+read.Note, "https://example.com/new a note")
	c.Call("GET", "/v3/urls/never", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)
	bob.Call("GET", "/v3/urls/new", "").Is(http.StatusNotFound, apierror.CodeURLNotFound)

	c.Must("POST", "/v3/urls/gone/restore", "")
	visits("gone", http.StatusFound)
	c.Must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-15"}]}`)
	visits("late", http.StatusFound)
	c.Must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":2}]}`)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)

	c.Must("PATCH", "/v3/urls/new", `{"urls":[{"custom_hash":"moved"}]}`)
	visits("moved", http.StatusFound)
	visits("new", http.StatusNotFound)
	c.Create(`"long_url":"https://example.com/","custom_hash":"once","max_clicks":1`)
	visits("once", http.StatusFound)
	visits("once", http.StatusGone)
	c.Create(`"long_url":"https://example.com/","custom_hash":"over","expiration_date":"2026-05-13"`)
	visits("over", http.StatusGone)
	c.Must("DELETE", "/v3/urls/moved", "")
	visits("moved", http.StatusGone)

	if _, err := s.Accounts.Deactivate(t.Context(), domain.Request{Command: uuid.New()}, "alice"); err != nil {
		t.Fatal(err)
	}
	visits(generated, http.StatusGone)
	visits("never", http.StatusNotFound)
	s.Resume(t, projections.Links, projections.Accounts)
}

// TestReadsSayThatTheyAreBehind pauses a projection. It checks that answers say how old the changes are that they lack,
// and that a single record lacks none.
func TestReadsSayThatTheyAreBehind(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, httpapitest.Impatient)
	c := s.Client(t, "alice")
	link := c.Create(`"long_url":"https://example.com/","tags":["old"]`)
	s.CatchUp(t)
	s.Pause(t, projections.Links)
	c.Must("PATCH", "/v3/urls/"+link.Hash, `{"urls":[{"note":"changed","tags":["new","-old"]}]}`)
	deadline := time.Now().Add(httpapitest.Timeout)
	for s.Level.Behind(projections.Links) == 0 && time.Now().Before(deadline) {
		if err := s.Level.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	list := c.Must("GET", "/v3/urls", "")
	if behind, err := strconv.Atoi(list.Header.Get("X-Seconds-Behind")); err != nil || behind < 3 {
		t.Errorf("the list is %d seconds behind, %v", behind, err)
	}
	httpapitest.Equal(t, "note in the list", list.URLs[0].Note, "")
	read := c.Must("GET", "/v3/urls/"+link.Hash, "").URLs[0]
	httpapitest.Equal(t, "record", read.Note+" "+strings.Join(read.Tags, " "), "changed new")
	s.Resume(t, projections.Links)
}

// TestReadModelsAheadOfTheLog gives the read models a link that the log lacks, and a checkpoint that is not in it. It
// checks that visitors and callers get nothing that the log lacks, and that the service mends itself.
func TestReadModelsAheadOfTheLog(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, httpapitest.Impatient)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"true"`)
	s.CatchUp(t)
	s.Pause(t, projections.Links)
	for _, statement := range []string{
		"UPDATE linkledger.links SET hash = 'ghost' WHERE hash = 'true'",
		"UPDATE linkledger.generations SET commit_pos = commit_pos + 1000000, prepare_pos = prepare_pos + 1000000 WHERE name = 'links'",
	} {
		if _, err := s.DB.NewRaw(statement).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	visits := func(hash string, want int) {
		t.Helper()
		if got := s.Visit(t, "GET", "/"+hash).Status; got != want {
			t.Errorf("%s is answered %d; want %d", hash, got, want)
		}
	}
	visits("ghost", http.StatusFound) // until it is noticed
	if err := s.Level.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	visits("ghost", http.StatusNotFound)
	visits("true", http.StatusFound)
	for _, path := range []string{"/v3/urls", "/v3/urls/true", "/v3/account", "/v3/session"} {
		c.Call("GET", path, "").Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	}
	c.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/"}]}`).
		Is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	s.Resume(t, projections.Links)
	deadline := time.Now().Add(httpapitest.Timeout)
	for s.Level.Misplaced(projections.Links) && time.Now().Before(deadline) {
		if err := s.Level.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	visits("ghost", http.StatusNotFound)
	visits("true", http.StatusFound)
	c.Must("GET", "/v3/urls/true", "")
	created := c.Create(`"long_url":"https://example.com/"`)
	s.CatchUp(t)
	httpapitest.Equal(t, "links in the list", len(c.Must("GET", "/v3/urls?hashes="+created.Hash+",true", "").URLs), 2)
}

// TestAnsweredIsNeverDeniedByAnotherNode creates links on a node, while visitors ask another one for them all the
// time, and the projection is paused again and again. Once a link is answered, no visitor may be denied it.
func TestAnsweredIsNeverDeniedByAnotherNode(t *testing.T) {
	t.Parallel()
	var other httpapi.Config
	s := httpapitest.New(t, httpapitest.Impatient, func(cfg *httpapi.Config) { other = *cfg })
	c := s.Client(t, "alice")
	targets, err := cache.NewRedirects(queries.New(s.DB), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	other.Visits.Cache = targets // it learns of no change
	node, err := httpapi.New(other)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(httpapitest.WithTimeout(t))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() {
		for ctx.Err() == nil {
			s.Pause(t, projections.Links)
			<-time.After(30 * time.Millisecond)
			s.Resume(t, projections.Links)
			<-time.After(30 * time.Millisecond)
		}
	})
	for i := range soak.N(60, 2000) {
		hash := "link-" + strconv.Itoa(i)
		asking, answered := context.WithCancel(ctx)
		var visitors sync.WaitGroup
		for range 4 {
			visitors.Go(func() {
				for asking.Err() == nil {
					httpapitest.Send(t, node, "GET", "/"+hash, "")
				}
			})
		}
		c.Create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
		for _, handler := range []http.Handler{node, s.Server, node} {
			if a := httpapitest.Send(t, handler, "GET", "/"+hash, ""); a.Status != http.StatusFound {
				t.Errorf("%s is answered %d: %s", hash, a.Status, a.Body)
			}
		}
		answered()
		visitors.Wait()
	}
}

// TestReadModelBetweenTwoLinks lets the read model apply the first of two new links while a visitor of the second one is
// about to be denied.
func TestReadModelBetweenTwoLinks(t *testing.T) {
	t.Parallel()
	var s *httpapitest.Stack
	advance := func() {}
	s = httpapitest.New(t, httpapitest.Impatient, func(cfg *httpapi.Config) {
		links := cfg.Visits.Levels.Links
		cfg.Visits.Levels.Links = func(ctx context.Context, at queries.Checkpoint) (queries.Checkpoint, error) {
			latest, err := links(ctx, at)
			advance()
			return latest, err
		}
	})
	c := s.Client(t, "alice")
	s.CatchUp(t)
	s.Pause(t, projections.Links)
	first := c.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"first"}]}`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"second"`)
	at := first.Header.Get(response.HeaderPosition)
	advance = func() {
		if _, err := s.DB.NewRaw("UPDATE linkledger.generations SET commit_pos = ?, prepare_pos = ? WHERE name = 'links'", at, at).
			Exec(t.Context()); err != nil {
			t.Error(err)
		}
	}
	httpapitest.Equal(t, "status of the second link", s.Visit(t, "GET", "/second").Status, http.StatusFound)
	advance = func() {}
	s.Resume(t, projections.Links)
}
