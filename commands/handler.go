package commands

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/events/eventstore"
)

// Config of a Handler.
type Config struct {
	Store *eventstore.Store
	// Logger gets what went wrong without being an error of the command; nil discards.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Destinations say where links may lead to.
	Destinations Rules
	// ReservedHashes are first path segments that the service itself serves.
	ReservedHashes []string
	// Quotas give room to the links of accounts with limits; nil: Request.Plan has none.
	Quotas *Quotas
	// Keys are those of sealed notes; nil: there are none.
	Keys AccountKeys
	// SealNotes has notes stored under the key of their account, of Keys.
	SealNotes bool
}

// Handler carries out commands. It is safe for concurrent use and keeps no state of its own but keys, for a little, and long
// streams as far as it has read them.
type Handler struct {
	cfg     Config
	notes   *noteKeys
	streams *longStreams
	past    LoggedStreams // nil: streams are read one by one
}

// NewHandler returns a Handler.
func NewHandler(cfg Config) *Handler {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{cfg: cfg, notes: &noteKeys{keys: cfg.Keys, seals: cfg.SealNotes}, streams: newLongStreams(cfg.Store)}
}

func (h *Handler) now() time.Time { return h.cfg.Now().UTC().Truncate(time.Microsecond) }

func (h *Handler) append(ctx context.Context, r domain.Request, stream string, expected eventstore.Revision, evs ...events.Event) (eventstore.Appended, error) {
	stored, err := h.notes.seal(ctx, r.Account, stream, evs)
	if err != nil {
		return eventstore.Appended{}, err
	}
	return h.cfg.Store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: expected, Command: r.Command, Metadata: r.Metadata(), Events: stored,
	})
}

// history is a loaded stream.
type history struct {
	recorded []eventstore.Recorded
	events   []events.Event
}

// load reads a stream. It fails with ErrCut where not all of it can be read.
func (h *Handler) load(ctx context.Context, stream string) (history, error) {
	loaded, err := h.stored(ctx, stream)
	if err != nil {
		return history{}, err
	}
	return h.opened(ctx, stream, loaded)
}

func (h *Handler) stored(ctx context.Context, stream string) (history, error) {
	if h.past != nil {
		return decoded(ctx, h.past[stream])
	}
	return h.streams.load(ctx, stream)
}

// loadToAppend is load for a stream that is appended to next if it is empty: the append fails with ErrCut then.
func (h *Handler) loadToAppend(ctx context.Context, stream string) (history, error) {
	recorded, err := h.cfg.Store.LoadToAppend(ctx, stream)
	if err != nil {
		return history{}, err
	}
	loaded, err := decoded(ctx, recorded)
	if err != nil {
		return history{}, err
	}
	return h.opened(ctx, stream, loaded)
}

// opened returns a stream with its notes readable.
func (h *Handler) opened(ctx context.Context, stream string, loaded history) (history, error) {
	evs, err := h.notes.openAll(ctx, loaded.events, stream)
	return history{recorded: loaded.recorded, events: evs}, err
}

func (l history) revision() eventstore.Revision { return eventstore.Revision(len(l.recorded)) - 1 }

func (l history) position() eventstore.Position {
	if len(l.recorded) == 0 {
		return eventstore.Position{}
	}
	return l.recorded[len(l.recorded)-1].Position
}

// holds tells whether the command has already written to this stream.
func (l history) holds(command uuid.UUID, stream string) bool {
	first := eventstore.EventID(command, stream, 0)
	return slices.ContainsFunc(l.recorded, func(r eventstore.Recorded) bool { return r.ID == first })
}
