package e2e

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/events/eventstore/eventstoretest"
)

// dsnThrough returns a network before the database of an installation, and how the database is reached through it.
func dsnThrough(t *testing.T, i *installation) (network *eventstoretest.Silence, dsn string) {
	t.Helper()
	at, err := pgconn.ParseConfig(i.database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	proto, address := pgconn.NetworkAddress(at.Host, at.Port)
	network = eventstoretest.Silenced(t, proto, address)
	return network, "postgres://" + at.User + "@" + network.Addr().String() + "/" + at.Database + "?sslmode=disable"
}

// readyFor returns the status of a probe, and what it says.
func readyFor(i *installation, work string) (status int, said string) {
	i.t.Helper()
	response, err := http.Get(i.admin + "/health/ready" + work)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// answersTo makes a call of the API, and returns its status and its body.
func answersTo(i *installation, method, path, body string) (status int, said string) {
	i.t.Helper()
	request, err := http.NewRequestWithContext(i.t.Context(), method, i.base+path, strings.NewReader(body))
	if err != nil {
		i.t.Fatal(err)
	}
	request.SetBasicAuth(demoUser, i.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		i.t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// TestCutOff cuts a node off from its stores, one after the other: packets are dropped. Calls that need the store are
// refused at once after the first ones, with the reason, those that do not need it are answered, visitors are
// redirected, and the probes say what the node can do.
func TestCutOff(t *testing.T) {
	t.Parallel()
	i := &installation{
		t: t, folder: t.TempDir(), program: program, storeAddress: freeAddress(t),
		base: "http://" + freeAddress(t), admin: "http://" + freeAddress(t),
	}
	i.startStore()
	i.startDatabase()
	t.Cleanup(i.stopDatabase)
	store := eventstoretest.Silenced(t, "tcp", i.storeAddress)
	database, dsn := dsnThrough(t, i)
	direct := i.storeAddress
	i.dsn, i.storeAddress = dsn, store.Addr().String()
	i.startService()
	i.openAccountBy("--eventstore", "esdb://"+direct+"?tls=false", "--database", i.database.DSN())
	const create = `{"urls":[{"long_url":"https://example.com/"}]}`
	i.eventually("a link is made", func() bool {
		body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"known"}]}`
		status, _ := answersTo(i, "POST", "/v3/urls", body)
		return status == http.StatusOK
	})
	visited := func() {
		t.Helper()
		redirected, err := visit(context.WithoutCancel(t.Context()), i.base, "known", "agent")
		if err != nil || !redirected {
			t.Errorf("a visitor is redirected: %v, %v", redirected, err)
		}
	}
	probes := func(redirects, reads, writes int) {
		t.Helper()
		for work, want := range map[string]int{
			"/redirects": redirects, "/reads": reads, "/writes": writes, "": writes,
		} {
			if got, said := readyFor(i, work); got != want {
				t.Errorf("/health/ready%s answers %d, want %d: %s", work, got, want, said)
			}
		}
	}
	read := func() (int, string) { return answersTo(i, "GET", "/v3/urls", "") }
	write := func() (int, string) { return answersTo(i, "POST", "/v3/urls", create) }
	for name, outage := range map[string]struct {
		network *eventstoretest.Silence
		refused []func() (int, string)
		reads   int
	}{
		"event store": {store, []func() (int, string){write}, 200},
		"database":    {database, []func() (int, string){read, write}, 503},
	} {
		visited()
		i.eventually("the node is ready", func() bool { status, _ := readyFor(i, ""); return status == http.StatusOK })
		probes(200, 200, 200)
		outage.network.Begin()
		for _, call := range outage.refused {
			i.eventually("calls are refused with the reason", func() bool {
				status, said := call()
				return status == http.StatusServiceUnavailable && strings.Contains(said, "the "+name+" does not answer")
			})
			began := time.Now()
			for range 20 { // each took ten seconds
				if status, said := call(); status != http.StatusServiceUnavailable {
					t.Errorf("%s: a call that must be refused is answered %d %s", name, status, said)
				}
			}
			t.Logf("%s: 20 calls are refused in %s", name, time.Since(began).Round(time.Millisecond))
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: 20 calls are refused in %s", name, took)
			}
		}
		if outage.reads == http.StatusOK {
			if status, said := read(); status != http.StatusOK {
				t.Errorf("%s: a read is answered %d %s", name, status, said)
			}
		}
		visited()
		probes(200, outage.reads, 503)
		outage.network.End()
		for _, call := range []func() (int, string){read, write} {
			i.eventually("calls are answered again", func() bool {
				status, _ := call()
				return status == http.StatusOK
			})
		}
	}
}
