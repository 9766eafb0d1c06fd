package audit_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands"
	"linkledger/commands/audit"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

func TestMain(m *testing.M) {
	soak.Checks(25, 200)
	eventstoretest.Main(m)
}

// stack is a reader of histories, and the commands that make them, on a private event store.
type stack struct {
	*commands.Handler
	*audit.Reader

	store   *eventstore.Store
	streams *streams.Streams
	clock   time.Time
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{store: eventstoretest.New(t), clock: commandstest.At}
	s.streams = streams.New(streams.Config{Store: s.store, Now: func() time.Time { return s.clock }})
	s.Handler = commands.NewHandler(commands.Config{Streams: s.streams})
	s.Reader = audit.New(s.streams, s.store, slog.New(slog.DiscardHandler))
	return s
}

func request(account string) domain.Request {
	return domain.Request{
		Account: account, ID: "request", Batch: "batch", Key: "key", Address: "address", Command: uuid.New(),
	}
}

func (s *stack) create(t *testing.T, r domain.Request, item commands.CreateURL) domain.Link {
	t.Helper()
	outcome := s.CreateURLs(t.Context(), r, []commands.CreateURL{item}).Items[0]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	return outcome.URL
}

func (s *stack) edit(t *testing.T, r domain.Request, hash string, edit commands.EditURL) error {
	t.Helper()
	edit.Hash = hash
	return s.EditURLs(t.Context(), r, []commands.EditURL{edit}).Items[0].Err
}

func (s *stack) history(t *testing.T, of audit.HistoryQuery) audit.History {
	t.Helper()
	history, err := s.History(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return history
}

func (s *stack) mustEdit(t *testing.T, hash string, edit commands.EditURL) {
	t.Helper()
	s.clock = s.clock.Add(time.Hour)
	if err := s.edit(t, request("a"), hash, edit); err != nil {
		t.Fatal(err)
	}
}
