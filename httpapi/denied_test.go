package httpapi

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
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/response"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// impatient answers writes soon although the read models do not show them.
func impatient(cfg *Config) { cfg.WaitTimeout = 20 * time.Millisecond }

// pause stops projections until the test ends or resumes them.
func (s *stack) pause(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Pause(withTimeout(t), s.db, name); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *stack) resume(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := projections.Resume(withTimeout(t), s.db, name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnsweredIsNeverDenied changes links and their account while the projections are paused. It checks that visitors
// get what was answered, and that a link that is gone does not come back.
func TestAnsweredIsNeverDenied(t *testing.T) {
	t.Parallel()
	s := newStack(t, impatient)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	visits := func(hash string, want int) {
		t.Helper()
		if got := s.visit(t, "GET", "/"+hash).status; got != want {
			t.Errorf("%s is answered %d; want %d", hash, got, want)
		}
	}
	for _, hash := range []string{"old", "gone", "spent", "late"} {
		c.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
	}
	c.must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":1}]}`)
	c.must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-13"}]}`)
	c.must("DELETE", "/v3/urls/gone", "")
	s.caughtUp(t)
	visits("gone", http.StatusGone)
	visits("late", http.StatusGone)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)
	visits("new", http.StatusNotFound)

	s.pause(t, projections.Links, projections.Accounts)
	visits("new", http.StatusNotFound)
	c.create(`"long_url":"https://example.com/new","custom_hash":"new","note":"a note"`)
	visits("new", http.StatusFound)
	equal(t, "destination", s.visit(t, "HEAD", "/new").header.Get("Location"), "https://example.com/new")
	equal(t, "image", s.visit(t, "GET", "/new/qr.png").status, http.StatusOK)
	generated := c.create(`"long_url":"https://example.com/"`).Hash
	visits(generated, http.StatusFound)
	visits("never", http.StatusNotFound)

	read := c.must("GET", "/v3/urls/new", "").URLs[0]
	equal(t, "record", *read.LongURL+" "+read.Note, "https://example.com/new a note")
	c.call("GET", "/v3/urls/never", "").is(http.StatusNotFound, apierror.CodeURLNotFound)
	bob.call("GET", "/v3/urls/new", "").is(http.StatusNotFound, apierror.CodeURLNotFound)

	c.must("POST", "/v3/urls/gone/restore", "")
	visits("gone", http.StatusFound)
	c.must("PATCH", "/v3/urls/late", `{"urls":[{"expiration_date":"2026-05-15"}]}`)
	visits("late", http.StatusFound)
	c.must("PATCH", "/v3/urls/spent", `{"urls":[{"max_clicks":2}]}`)
	visits("spent", http.StatusFound)
	visits("spent", http.StatusGone)

	c.must("PATCH", "/v3/urls/new", `{"urls":[{"custom_hash":"moved"}]}`)
	visits("moved", http.StatusFound)
	visits("new", http.StatusNotFound)
	c.create(`"long_url":"https://example.com/","custom_hash":"once","max_clicks":1`)
	visits("once", http.StatusFound)
	visits("once", http.StatusGone)
	c.create(`"long_url":"https://example.com/","custom_hash":"over","expiration_date":"2026-05-13"`)
	visits("over", http.StatusGone)
	c.must("DELETE", "/v3/urls/moved", "")
	visits("moved", http.StatusGone)

	if _, err := s.accounts.Deactivate(t.Context(), domain.Request{Command: uuid.New()}, "alice"); err != nil {
		t.Fatal(err)
	}
	visits(generated, http.StatusGone)
	visits("never", http.StatusNotFound)
	s.resume(t, projections.Links, projections.Accounts)
}

// TestReadsSayThatTheyAreBehind pauses a projection. It checks that answers say how old the changes are that they lack,
// and that a single record lacks none.
func TestReadsSayThatTheyAreBehind(t *testing.T) {
	t.Parallel()
	s := newStack(t, impatient)
	c := s.client(t, "alice")
	link := c.create(`"long_url":"https://example.com/","tags":["old"]`)
	s.caughtUp(t)
	s.pause(t, projections.Links)
	c.must("PATCH", "/v3/urls/"+link.Hash, `{"urls":[{"note":"changed","tags":["new","-old"]}]}`)
	deadline := time.Now().Add(testTimeout)
	for s.level.Behind(projections.Links) == 0 && time.Now().Before(deadline) {
		if err := s.level.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	list := c.must("GET", "/v3/urls", "")
	if behind, err := strconv.Atoi(list.header.Get("X-Seconds-Behind")); err != nil || behind < 3 {
		t.Errorf("the list is %d seconds behind, %v", behind, err)
	}
	equal(t, "note in the list", list.URLs[0].Note, "")
	read := c.must("GET", "/v3/urls/"+link.Hash, "").URLs[0]
	equal(t, "record", read.Note+" "+strings.Join(read.Tags, " "), "changed new")
	s.resume(t, projections.Links)
}

// TestReadModelsAheadOfTheLog gives the read models a link that the log lacks, and a checkpoint that is not in it. It
// checks that visitors and callers get nothing that the log lacks, and that the service mends itself.
func TestReadModelsAheadOfTheLog(t *testing.T) {
	t.Parallel()
	s := newStack(t, impatient)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"true"`)
	s.caughtUp(t)
	s.pause(t, projections.Links)
	for _, statement := range []string{
		"UPDATE linkledger.links SET hash = 'ghost' WHERE hash = 'true'",
		"UPDATE linkledger.generations SET commit_pos = commit_pos + 1000000, prepare_pos = prepare_pos + 1000000 WHERE name = 'links'",
	} {
		if _, err := s.db.NewRaw(statement).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	visits := func(hash string, want int) {
		t.Helper()
		if got := s.visit(t, "GET", "/"+hash).status; got != want {
			t.Errorf("%s is answered %d; want %d", hash, got, want)
		}
	}
	visits("ghost", http.StatusFound) // until it is noticed
	if err := s.level.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	visits("ghost", http.StatusNotFound)
	visits("true", http.StatusFound)
	for _, path := range []string{"/v3/urls", "/v3/urls/true", "/v3/account", "/v3/session"} {
		c.call("GET", path, "").is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	}
	c.call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/"}]}`).
		is(http.StatusServiceUnavailable, apierror.CodeUnknown)
	s.resume(t, projections.Links)
	deadline := time.Now().Add(testTimeout)
	for s.level.Misplaced(projections.Links) && time.Now().Before(deadline) {
		if err := s.level.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
	visits("ghost", http.StatusNotFound)
	visits("true", http.StatusFound)
	c.must("GET", "/v3/urls/true", "")
	created := c.create(`"long_url":"https://example.com/"`)
	s.caughtUp(t)
	equal(t, "links in the list", len(c.must("GET", "/v3/urls?hashes="+created.Hash+",true", "").URLs), 2)
}

// TestAnsweredIsNeverDeniedByAnotherNode creates links on a node, while visitors ask another one for them all the
// time, and the projection is paused again and again. Once a link is answered, no visitor may be denied it.
func TestAnsweredIsNeverDeniedByAnotherNode(t *testing.T) {
	t.Parallel()
	var other Config
	s := newStack(t, impatient, func(cfg *Config) { other = *cfg })
	c := s.client(t, "alice")
	targets, err := cache.NewRedirects(queries.New(s.db), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	other.Visits.Cache = targets // it learns of no change
	node, err := New(other)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(withTimeout(t))
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	work.Go(func() {
		for ctx.Err() == nil {
			s.pause(t, projections.Links)
			<-time.After(30 * time.Millisecond)
			s.resume(t, projections.Links)
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
					send(t, node, "GET", "/"+hash, "")
				}
			})
		}
		c.create(`"long_url":"https://example.com/","custom_hash":"` + hash + `"`)
		for _, handler := range []http.Handler{node, s.handler, node} {
			if a := send(t, handler, "GET", "/"+hash, ""); a.status != http.StatusFound {
				t.Errorf("%s is answered %d: %s", hash, a.status, a.body)
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
	var s *stack
	advance := func() {}
	s = newStack(t, impatient, func(cfg *Config) {
		links := cfg.Visits.Levels.Links
		cfg.Visits.Levels.Links = func(ctx context.Context, at queries.Checkpoint) (queries.Checkpoint, error) {
			latest, err := links(ctx, at)
			advance()
			return latest, err
		}
	})
	c := s.client(t, "alice")
	s.caughtUp(t)
	s.pause(t, projections.Links)
	first := c.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"first"}]}`)
	c.create(`"long_url":"https://example.com/","custom_hash":"second"`)
	at := first.header.Get(response.HeaderPosition)
	advance = func() {
		if _, err := s.db.NewRaw("UPDATE linkledger.generations SET commit_pos = ?, prepare_pos = ? WHERE name = 'links'", at, at).
			Exec(t.Context()); err != nil {
			t.Error(err)
		}
	}
	equal(t, "status of the second link", s.visit(t, "GET", "/second").status, http.StatusFound)
	advance = func() {}
	s.resume(t, projections.Links)
}
