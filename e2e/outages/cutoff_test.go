package outages_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events/eventstore/eventstoretest"
)

// readyFor returns the status and the text of a probe.
func readyFor(i *installtest.Installation, work string) (status int, said string) {
	i.T.Helper()
	response, err := http.Get(i.Admin + "/health/ready" + work)
	if err != nil {
		i.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		i.T.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// answersTo makes a call of the API, and returns its status and its body.
func answersTo(i *installtest.Installation, method, path, body string) (status int, said string) {
	i.T.Helper()
	request, err := http.NewRequestWithContext(i.T.Context(), method, i.Base+path, strings.NewReader(body))
	if err != nil {
		i.T.Fatal(err)
	}
	request.SetBasicAuth(e2etest.DemoUser, i.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		i.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		i.T.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// TestCutOff cuts a node off from its stores, one after the other: packets are dropped. Calls that need the store are
// refused with the reason, and at once after the first ones. Other calls are answered, visitors are redirected, and the
// probes say what the node can do.
func TestCutOff(t *testing.T) {
	t.Parallel()
	i := &installtest.Installation{
		T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: installtest.FreeAddress(t),
		Base: "http://" + installtest.FreeAddress(t), Admin: "http://" + installtest.FreeAddress(t),
	}
	i.StartStore()
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	store := eventstoretest.Silenced(t, "tcp", i.StoreAddress)
	database, dsn := installtest.DSNThrough(t, i)
	direct := i.StoreAddress
	i.DSN, i.StoreAddress = dsn, store.Addr().String()
	i.StartService()
	i.OpenAccountBy("--eventstore", "esdb://"+direct+"?tls=false", "--database", i.Database.DSN())
	const create = `{"urls":[{"long_url":"https://example.com/"}]}`
	i.Eventually("a link is made", func() bool {
		body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"known"}]}`
		status, _ := answersTo(i, "POST", "/v3/urls", body)
		return status == http.StatusOK
	})
	visited := func() {
		t.Helper()
		redirected, err := e2etest.Visit(context.WithoutCancel(t.Context()), i.Base, "known", "agent")
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
		i.Eventually("the node is ready", func() bool { status, _ := readyFor(i, ""); return status == http.StatusOK })
		probes(200, 200, 200)
		outage.network.Begin()
		for _, call := range outage.refused {
			i.Eventually("calls are refused with the reason", func() bool {
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
			i.Eventually("calls are answered again", func() bool {
				status, _ := call()
				return status == http.StatusOK
			})
		}
	}
}
