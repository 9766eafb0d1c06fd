// Package operatorstest makes the console of operators for the service of a test. It is for tests
// only.
package operatorstest

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/httpapi/branchtest"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/login"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/session"
	"linkledger/internal/operators"
	"linkledger/projections"
	"linkledger/projections/engine"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// New returns a stack and its console of operators. The projections try dead letters again only
// when they start. A page waits for the event store for at most patience.
func New(t *testing.T, patience time.Duration) (*httpapitest.Stack, *operators.Handler) {
	t.Helper()
	return NewThat(t, engine.Config{RetryInterval: time.Hour}, patience)
}

// NewThat is like New, with another configuration of the projections and of the console.
func NewThat(
	t *testing.T, projecting engine.Config, patience time.Duration, adjust ...func(*operators.Config),
) (*httpapitest.Stack, *operators.Handler) {
	t.Helper()
	s := httpapitest.NewProjecting(t, projecting, eventstoretest.Serve(t))
	return s, For(t, s, projecting, patience, adjust...)
}

// For returns the console of operators of a stack.
func For(
	t *testing.T, s *httpapitest.Stack, projecting engine.Config, patience time.Duration, adjust ...func(*operators.Config),
) *operators.Handler {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(s.Log, nil))
	cfg := operators.Config{
		DB: s.DB, Store: s.Store, Queries: queries.New(s.DB),
		Sessions: &session.Sessions{
			Store: s.DB.Keys, Queries: queries.New(s.DB), Pseudonyms: peer.NewPseudonyms([]byte(strings.Repeat("k", 32))),
			Origins: http.NewCrossOriginProtection(), Now: s.Now, Logger: slog.New(slog.DiscardHandler),
			Guard: login.New(login.Config{Refused: func(string) {}, Now: s.Now, Logger: logger}),
		},
		Process: operators.Process{
			Version: "v1.2.3", Roles: "api", Spool: func() string {
				if projecting.MaxParked < 0 {
					return "" // there is no spool
				}
				return "7 clicks"
			},
			Settings: []operators.Setting{{Flag: "--listen", Environment: "LINKLEDGER_LISTEN", Value: "127.0.0.1:0", From: "flag"}},
		},
		Hosts: operators.Hosts{httpapitest.ShortHost}, Patience: patience, Logger: logger,
	}
	for _, change := range adjust {
		change(&cfg)
	}
	h, err := operators.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	branchtest.Watch(t, "operators", h.Templates())
	s.Start(t, h.Run)
	return h
}

// SignIn returns a browser with the session of an operator.
func SignIn(t *testing.T, s *httpapitest.Stack, h http.Handler) *browsertest.Browser {
	t.Helper()
	b := browsertest.NewBrowser(t, h)
	b.Leads(Link(t, s, accountlist.NewSession{Operator: true}), nil, "/console")
	return b
}

// Link returns the path of a one-time link to the console of operators.
func Link(t *testing.T, s *httpapitest.Stack, of accountlist.NewSession) string {
	t.Helper()
	now := s.Now()
	secret, err := s.DB.Keys.AddSignInLink(t.Context(), of, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return "/console/sign-in/" + secret
}

// Poison appends an event that the projection of tags cannot apply, waits until it is set aside,
// and returns its stream.
func Poison(t *testing.T, s *httpapitest.Stack) string {
	t.Helper()
	stream := Poisonous(t, s)
	at, err := s.Store.Last(t.Context(), stream)
	if err == nil {
		err = projections.Await(httpapitest.WithTimeout(t), s.DB, s.Store, projections.Tags, at.Position)
	}
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// Poisonous appends an event that the projection of tags cannot apply, and returns its stream.
func Poisonous(t *testing.T, s *httpapitest.Stack) string {
	t.Helper()
	stream := events.StreamTags + uuid.NewString()
	_, err := s.Store.Append(t.Context(), eventstore.Write{ // a tag that was never created
		Stream: stream, Expected: eventstore.NoStream, Command: uuid.New(),
		Events: []events.Event{events.TagDeleted{TagID: uuid.NewString(), At: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}
