// A node whose clock differs from the clock of the database.

package outages_test

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events/eventstore/eventstoretest"
)

// otherClock is a network before PostgreSQL that makes its clock seem to be in another year. It forwards everything
// else unchanged.
type otherClock struct {
	net.Listener

	years atomic.Int64 // that the clock seems ahead
}

// throughClock starts the network until the test ends.
func throughClock(t *testing.T, network, address string) *otherClock {
	t.Helper()
	c := &otherClock{}
	c.Listener = eventstoretest.Forward(t, network, address, func(client, server net.Conn) (there, back func()) {
		var asked atomic.Bool // the clock, by the query that runs
		there = func() {
			forward(server, client, func(text []byte) []byte {
				asked.Store(bytes.Contains(text, []byte("SELECT clock_timestamp()\x00")))
				return text
			})
		}
		back = func() {
			forward(client, server, func(text []byte) []byte {
				if !asked.Load() {
					return text
				}
				now := time.Now().UTC()
				other := now.AddDate(int(c.years.Load()), 0, 0)
				return bytes.Replace(
					text, []byte(strconv.Itoa(now.Year())+"-"), []byte(strconv.Itoa(other.Year())+"-"), 1,
				)
			})
		}
		return there, back
	})
	return c
}

// forward copies what one end sends, after a change, until one of them closes.
func forward(to, from net.Conn, change func([]byte) []byte) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(change(buffer[:n])); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}

// TestWrongClock starts a node whose clock differs by years from the clock of the database, beside a node with a right
// clock. The node serves nothing and says why, and serves as soon as its clock is right.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	i := installtest.Install(t)
	if _, err := e2etest.Call(t.Context(), i.Base, i.Key, "POST", "/urls",
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`); err != nil {
		t.Fatal(err)
	}
	at, err := pgconn.ParseConfig(i.Database.DSN())
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgconn.NetworkAddress(at.Host, at.Port)
	clock := throughClock(t, network, address)
	for _, years := range []int64{1, -1} {
		clock.years.Store(years)
		wrong := *i
		wrong.DSN = (&url.URL{
			Scheme: "postgres", User: url.User(at.User), Host: clock.Addr().String(), Path: at.Database,
			RawQuery: "sslmode=disable",
		}).String()
		wrong.Base, wrong.Admin = "http://"+installtest.FreeAddress(t), "http://"+installtest.FreeAddress(t)
		service := wrong.Serve(wrong.Base, wrong.Admin, "other-spool-"+strconv.Itoa(int(years)))
		e2etest.AwaitReady(t, wrong.Admin, http.StatusServiceUnavailable, "clock is "+cmp.Or(
			map[int64]string{1: "behind", -1: "ahead of"}[years], "?"))
		for _, path := range []string{"/link0", "/v3/urls"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, wrong.Base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(e2etest.DemoUser, i.Key)
			response, err := e2etest.NoRedirects.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close() // it was read
			if response.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: %s %s", path, response.Status, body)
			}
		}
		if redirected, err := e2etest.Visit(t.Context(), i.Base, "link0", "visitor"); err != nil || !redirected {
			t.Errorf("a node whose clock is right does not redirect: %v", err)
		}
		clock.years.Store(0)
		e2etest.AwaitReady(t, wrong.Admin, http.StatusOK, "ok")
		if redirected, err := e2etest.Visit(t.Context(), wrong.Base, "link0", "visitor"); err != nil || !redirected {
			t.Errorf("no redirect once the clock is right: %v", err)
		}
		service.Kill()
		if said := service.Output.String(); !strings.Contains(said, "the clocks differ") ||
			!strings.Contains(said, "the clocks agree again") {
			t.Errorf("the log says\n%s", said)
		}
	}
}
