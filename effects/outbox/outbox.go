package outbox

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Outbox is the messages, queues and receivers of one effect. It is safe for concurrent use.
type Outbox struct {
	effect string
	pool   *pgxpool.Pool
}

// answerTimeout bounds a method. A connection that was lost without being closed gives no answer.
const answerTimeout = 10 * time.Second

// New returns the outbox of an effect.
func New(effect string, pool *pgxpool.Pool) *Outbox { return &Outbox{effect: effect, pool: pool} }

// Receiver gets the messages of an effect. A webhook is a receiver.
type Receiver struct {
	ID      uuid.UUID
	Account uuid.UUID
	// Config belongs to the effect. It MUST have no secrets in plain text.
	Config json.RawMessage
	Open   bool // messages are delivered
	// Failures is the number of attempts that have failed since the last success, and FailingSince
	// is the time of the first of them.
	Failures     int
	FailingSince time.Time
}

// Message is something that an effect does for a receiver.
type Message struct {
	ID       uuid.UUID // the same for each attempt
	Receiver uuid.UUID
	Subject  string    // messages about one subject are delivered in their order
	Commit   uint64    // commit position of the event
	At       time.Time // of the event, by the clock of the event store
	Kind     string
	Body     []byte

	Attempts int       // that have ended
	FirstTry time.Time // start of the first attempt; zero: none
}

// Changes are what a batch of events changes in an outbox.
type Changes struct {
	Set      []Receiver  // new receivers, and receivers with another Config or Open
	Messages []Message   // in the order of the log
	Remove   []uuid.UUID // receivers, with all their messages
}

// IsEmpty reports whether there is no change.
func (c Changes) IsEmpty() bool {
	return len(c.Set) == 0 && len(c.Messages) == 0 && len(c.Remove) == 0
}
