package people_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

func TestMain(m *testing.M) { eventstoretest.Main(m) }

var ada = events.Details{Issuer: "https://id.example.com", Subject: "1", Mail: "ada@example.com", Name: "Ada"}

// registry is People on a private event store.
type registry struct {
	*people.People
	t     *testing.T
	store *eventstore.Store
	keys  *commandstest.SealingKeys
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{t: t, store: eventstoretest.New(t), keys: commandstest.NewSealingKeys()}
	return r.again()
}

// again returns another process on the same log and keys.
func (r *registry) again() *registry {
	written := streams.New(streams.Config{Store: r.store, Keys: r.keys, Seal: true})
	return &registry{people.New(written, r.keys, []byte("secret")), r.t, r.store, r.keys}
}

func request() domain.Request { return domain.Request{Operator: true, Command: uuid.New()} }

// known records a person and returns their id.
func (r *registry) known(of events.Details) string {
	r.t.Helper()
	outcome, err := r.Known(r.t.Context(), request(), of)
	if err != nil || outcome.Person.Details != of {
		r.t.Fatalf("%+v, %v; want %+v", outcome, err, of)
	}
	return outcome.Person.ID
}

func (r *registry) events(stream string) []string {
	r.t.Helper()
	loaded, err := r.store.Load(r.t.Context(), stream)
	if err != nil {
		r.t.Fatal(err)
	}
	types := make([]string, len(loaded))
	for i, e := range loaded {
		types[i] = e.Type
	}
	return types
}

// TestKnown checks that a person has one id, and that only changes are recorded.
func TestKnown(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	id := r.known(ada)
	married := ada
	married.Name = "Ada King"
	for _, details := range []events.Details{ada, married, married, ada} {
		if again := r.known(details); again != id {
			t.Errorf("%+v is %s; want %s", details, again, id)
		}
	}
	if got := r.events(events.StreamUser + id); len(got) != 3 {
		t.Errorf("recorded %v; want three changes", got)
	}
	for _, other := range []events.Details{
		{Issuer: ada.Issuer, Subject: "2"}, {Issuer: "https://other.example.com", Subject: "1"},
	} {
		if r.known(other) == id {
			t.Errorf("%+v is the same person", other)
		}
	}
	if person, err := r.again().Person(t.Context(), id); err != nil || person.Details != ada {
		t.Errorf("another process reads %+v, %v", person, err)
	}
}

// TestFirstSignInsTogether signs one person in concurrently. They get one id.
func TestFirstSignInsTogether(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	var mu sync.Mutex
	var ids []string
	commandstest.Together(16, func(int) {
		id := r.again().known(ada)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
	})
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] {
		t.Errorf("one person has the ids %v", slices.Compact(ids))
	}
	if got := r.events(events.StreamUser + ids[0]); len(got) != 1 {
		t.Errorf("recorded %v; want one event", got)
	}
}

// TestErasedPerson checks that the details of an erased person are unreadable, in another process and after an
// interruption, and that the person who signs in again is another one.
func TestErasedPerson(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	id := r.known(ada)
	if _, err := r.Erase(t.Context(), request(), uuid.NewString()); domain.KindOf(err) != domain.UserNotFound {
		t.Errorf("a stranger is erased: %v", err)
	}
	r.keys.Fail = errors.New("interrupted")
	if _, err := r.Erase(t.Context(), request(), id); err == nil {
		t.Fatal("the interruption is not reported")
	}
	for range 2 {
		outcome, err := r.again().Erase(t.Context(), request(), id)
		if err != nil || !outcome.Person.Erased || outcome.Person.Name != events.Erased || outcome.Person.Subject != "" {
			t.Fatalf("%+v, %v", outcome, err)
		}
	}
	if got := strings.Join(r.events(events.StreamUser+id), " "); got != "user.known.v1 user.erased.v1" {
		t.Errorf("recorded %s", got)
	}
	if key, err := r.keys.AccountKey(t.Context(), id); key != nil || err != nil {
		t.Errorf("the key is %x, %v; want none", key, err)
	}
	if _, err := r.Person(t.Context(), id); domain.KindOf(err) != domain.UserNotFound {
		t.Errorf("an erased person: %v", err)
	}
	again := r.again().known(ada)
	if again == id {
		t.Error("an erased person has the same id again")
	}
	if third := r.again().known(ada); third != again {
		t.Errorf("then the person is %s and %s", again, third)
	}
	r.wantUnlinked(id, again)
}

// wantUnlinked checks that no event and no stream of the log names two users together.
func (r *registry) wantUnlinked(former, again string) {
	r.t.Helper()
	head, err := r.store.Head(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	streams := make(map[string]string) // what each has
	if err := r.store.ReadLog(r.t.Context(), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, e := range batch {
			streams[e.Stream] += e.Stream + string(e.Data) + string(e.Metadata)
		}
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	for stream, text := range streams {
		if strings.Contains(text, former) && strings.Contains(text, again) {
			r.t.Errorf("stream %s links the erased person to the new one", stream)
		}
	}
}

// TestLostKey checks that a person whose key is lost can be erased, and then signs in anew.
func TestLostKey(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	id := r.known(ada)
	r.keys.Lose()
	if _, err := r.again().Known(t.Context(), request(), ada); !errors.Is(err, streams.ErrNoKey) {
		t.Errorf("with a lost key: %v", err)
	}
	if _, err := r.again().Erase(t.Context(), request(), id); err != nil {
		t.Fatal(err)
	}
	if again := r.again().known(ada); again == id {
		t.Error("an erased person has the same id again")
	}
}

// TestErasureDuringSignIns erases a person who signs in all the time. The person known in the end has a key of their
// own.
func TestErasureDuringSignIns(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	first := r.known(ada)
	commandstest.Together(9, func(i int) {
		process := r.again()
		if i == 4 {
			if _, err := process.Erase(t.Context(), request(), first); err != nil {
				t.Error(err)
			}
			return
		}
		for n := range 10 {
			details := ada
			details.Name = strings.Repeat("x", n%3+1)
			if _, err := process.Known(t.Context(), request(), details); err != nil && domain.KindOf(err) != domain.AccountGone {
				t.Error(err)
			}
		}
	})
	if last := r.again().known(ada); last == first {
		t.Error("the erased person signs in as before")
	}
	if got := r.events(events.StreamUser + first); got[len(got)-1] != "user.erased.v1" {
		t.Errorf("after the erasure there are %v", got)
	}
}

// TestNothingIsStoredInPlainText checks that without keys nothing is recorded, not even an id.
func TestNothingIsStoredInPlainText(t *testing.T) {
	t.Parallel()
	store := eventstoretest.New(t)
	keys := commandstest.NewSealingKeys()
	for name, p := range map[string]*people.People{
		"no keys":   people.New(streams.New(streams.Config{Store: store}), nil, []byte("secret")),
		"no secret": people.New(streams.New(streams.Config{Store: store, Keys: keys, Seal: true}), keys, nil),
		"unsealing": people.New(streams.New(streams.Config{Store: store, Keys: keys}), keys, []byte("secret")),
	} {
		if _, err := p.Known(t.Context(), request(), ada); !errors.Is(err, people.ErrNotSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	head, err := store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.ReadLog(t.Context(), eventstore.Position{}, head, func(batch []eventstore.Recorded) error {
		for _, r := range slices.DeleteFunc(batch, eventstore.Recorded.IsSystem) {
			t.Errorf("%s was recorded", r.Stream)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
