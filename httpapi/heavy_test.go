package httpapi_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections/readmodel"
	"linkledger/queries/linklist"
	"linkledger/queries/queriestest"
)

// heavySearch gives an account links whose long URLs each nearly have a text, everywhere. An account can make such
// links. It returns the query that searches for the text, which takes PostgreSQL longer than the service has for a call
// from then on.
func heavySearch(t *testing.T, s *httpapitest.Stack, c *httpapitest.Client) string {
	t.Helper()
	queriestest.FillGeneration(t, s.DB, "links", []string{
		`
		INSERT INTO ?schema.links
			SELECT md5('link' || n)::uuid, ?account, n, 'h' || n,
				'https://example.com/' || repeat(repeat('a', 1000) || 'b', 2), '', false, false, false, false, NULL, 0,
				'{}', now(), now(), n, 0
			FROM generate_series(0, ?links - 1) n`,
	}, uuid.MustParse(c.ID), 2000)
	s.Server.SetRequestTimeout(short / 3)
	return "?search=" + url.QueryEscape(strings.Repeat("a", 1001)+"b")
}

// TestHeavyReadsAreNotTheNodesFault makes a search that takes longer than a call may, by the API and on a page.
func TestHeavyReadsAreNotTheNodesFault(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "")
	c := s.Client(t, "acme")
	b := s.Browser(t)
	b.SignInBy(c)
	search := heavySearch(t, s.Stack, c)
	a := c.Call("GET", "/v3/urls"+search, "")
	a.Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	a.Has("ask for less")
	httpapitest.Equal(t, "Retry-After", a.Header.Get("Retry-After"), "10")
	page := b.Call("GET", "/console/links"+search, "")
	httpapitest.Equal(t, "the page of the search", page.Status, http.StatusTooManyRequests)
	c.Must("GET", "/v3/urls?limit=1", "")
}

// TestSlowDatabasesAreTheNodesFault lists links from a database that does not answer, that has no free connection, or
// that is away.
func TestSlowDatabasesAreTheNodesFault(t *testing.T) {
	t.Parallel()
	at, err := pgconn.ParseConfig(httpapitest.Prepared.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	network := eventstoretest.Between(t, forward(t, at))
	db, err := readmodel.Open(httpapitest.WithTimeout(t),
		"postgres://"+at.User+"@"+network.Address()+"/"+at.Database+"?sslmode=disable", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.Lists = linklist.New(db) })
	c := s.Client(t, "acme")
	list := func(status int) {
		t.Helper()
		s.Server.SetRequestTimeout(httpapitest.Timeout)
		if status != http.StatusOK {
			s.Server.SetRequestTimeout(short / 3)
		}
		if a := c.Call("GET", "/v3/urls", ""); a.Status != status {
			t.Errorf("the list is answered %d %s; want %d", a.Status, a.Body, status)
		}
	}
	list(http.StatusOK)
	network.Delay(short)
	list(http.StatusServiceUnavailable)
	network.Clear()
	list(http.StatusOK)
	network.Stall()
	list(http.StatusServiceUnavailable)
	network.Clear()
	list(http.StatusOK)
	only, err := db.Pool.Acquire(httpapitest.WithTimeout(t))
	if err != nil {
		t.Fatal(err)
	}
	list(http.StatusServiceUnavailable)
	only.Release()
	list(http.StatusOK)
	network.Cut()
	list(http.StatusServiceUnavailable)
}

// forward forwards TCP connections to the Unix socket of a server, and returns the address.
func forward(t *testing.T, server *pgconn.Config) string {
	t.Helper()
	network, address := pgconn.NetworkAddress(server.Host, server.Port)
	return eventstoretest.Forward(t, network, address, func(client, server net.Conn) (there, back func()) {
		there = func() { _, _ = io.Copy(server, client); _ = server.Close() }
		back = func() { _, _ = io.Copy(client, server); _ = client.Close() }
		return there, back
	}).Addr().String()
}

// TestManyHeavyReadsAreNotTheNodesFault makes an account search what takes long, many times at once. No call is answered
// 503: neither one of this account, nor one of another account.
func TestManyHeavyReadsAreNotTheNodesFault(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, other := s.Client(t, "acme"), s.Client(t, "other")
	search := heavySearch(t, s, c)
	var calls sync.WaitGroup
	for range 48 {
		calls.Go(func() {
			if a := c.Call("GET", "/v3/urls"+search, ""); a.Status >= http.StatusInternalServerError {
				t.Errorf("the search is answered %d", a.Status)
			}
		})
	}
	for range 8 {
		calls.Go(func() {
			if a := other.Call("GET", "/v3/urls", ""); a.Status != http.StatusOK {
				t.Errorf("the call of the other account is answered %d", a.Status)
			}
		})
	}
	calls.Wait()
}

// TestDeepListsOfAnAccountTakeTurns checks that lists far from the beginning take turns, and those near it do not.
func TestDeepListsOfAnAccountTakeTurns(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "acme")
	c.Create(`"long_url":"https://example.com/","tags":["news"]`) // so that a list reads links
	lists := func(offset, n int) chan *httpapitest.Answer {
		answers := make(chan *httpapitest.Answer, n)
		for range n {
			go func() { answers <- c.Call("GET", "/v3/urls?tags=news&offset="+strconv.Itoa(offset), "") }()
		}
		return answers
	}
	held, err := s.DB.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = held.NewRaw(`DO $$ BEGIN
			EXECUTE (SELECT 'LOCK TABLE ' || string_agg(format('%I.%I', schemaname, tablename), ', ')
				FROM pg_tables WHERE schemaname LIKE 'links\_g%');
		END $$`).Exec(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	const atOnce, further = 2 + 32, 6
	deep := lists(1000, atOnce+further)
	for range further {
		(<-deep).Is(http.StatusTooManyRequests, apierror.CodeCallLimit)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	for range atOnce {
		(<-deep).Is(http.StatusOK, apierror.CodeOK)
	}
	plain := lists(999, atOnce+further)
	for range atOnce + further {
		(<-plain).Is(http.StatusOK, apierror.CodeOK)
	}
}
