package streams

import (
	"context"
	"errors"
	"time"

	"linkledger/commands/domain"
	"linkledger/commands/permit"
	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/eventstore"
	"linkledger/events/sealing"
)

// Config of Streams.
type Config struct {
	Store *eventstore.Store
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// Keys encrypt the notes of accounts and the details of people. If nil, neither can be read.
	Keys SealingKeys
	// If Seal is true, Append encrypts personal data with the key of its owner. Seal needs Keys.
	Seal bool
}

// Streams reads and writes the streams that commands decide on. It is safe for concurrent use. It
// caches keys for a minute at most, and the events of long streams.
type Streams struct {
	cfg      Config
	personal *personalCipher
	long     *longStreams
	logged   Logged // nil: streams are read one by one
}

// New returns Streams.
func New(cfg Config) *Streams {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Streams{
		cfg: cfg, personal: &personalCipher{keys: cfg.Keys, seals: cfg.Seal},
		long: newLongStreams(cfg.Store),
	}
}

// Now returns the time that events written now have: in UTC, in whole microseconds, which
// PostgreSQL and JSON keep.
func (s *Streams) Now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }

// Seals reports whether Append seals personal data.
func (s *Streams) Seals() bool { return s.cfg.Seal }

// Append appends the events of a command to a stream whose last event has the expected revision, if
// the caller still may, see permit.Check. It seals personal data if Config.Seal is true. It refuses
// a text with control characters or invalid UTF-8 with InvalidValue. It also returns the errors of
// eventstore.Store.Append and permit.Check, and ErrNoKey.
func (s *Streams) Append(
	ctx context.Context, r domain.Request, stream string, expected eventstore.Revision,
	all ...events.Event,
) (eventstore.Appended, error) {
	appended, err := s.append(ctx, r, stream, expected, all)
	if odd, ok := errors.AsType[*codec.TextError](err); ok {
		return appended, domain.Refuse(
			domain.InvalidValue,
			"%s must not have control characters, and must be valid UTF-8", odd.Field,
		)
	}
	return appended, err
}

func (s *Streams) append(
	ctx context.Context, r domain.Request, stream string, expected eventstore.Revision,
	all []events.Event,
) (eventstore.Appended, error) {
	if err := permit.Check(ctx); err != nil {
		return eventstore.Appended{}, err
	}
	sealed, err := s.personal.sealAll(ctx, r.Account, stream, all)
	if err != nil {
		return eventstore.Appended{}, err
	}
	return s.cfg.Store.Append(ctx, eventstore.Write{
		Stream: stream, Expected: expected, Command: r.Command, Metadata: r.Metadata(),
		Events: sealed,
	})
}

// Load reads a stream, with its personal data opened. It fails with eventstore.ErrCut if events of
// the stream are missing. It fails with an *eventstore.DecodeError if an event cannot be decoded,
// or if its personal data cannot be opened. With a DecodeError it also returns what LoadReadable
// returns.
func (s *Streams) Load(ctx context.Context, stream string) (History, error) {
	loaded, err := s.LoadSealed(ctx, stream)
	if err != nil {
		return loaded, err
	}
	return s.open(ctx, stream, loaded)
}

// LoadReadable is Load for callers that MUST NOT fail for an event that a newer version or another
// program has written, such as commands that only end rights. Personal data stays sealed.
func (s *Streams) LoadReadable(ctx context.Context, stream string) (History, error) {
	if s.logged != nil {
		return decode(ctx, s.logged[stream])
	}
	return s.long.load(ctx, stream)
}

// LoadSealed is Load without opening the personal data, so it needs no keys.
func (s *Streams) LoadSealed(ctx context.Context, stream string) (History, error) {
	loaded, err := s.LoadReadable(ctx, stream)
	if err == nil {
		err = loaded.Err()
	}
	return loaded, err
}

// LoadToAppend is Load for a stream that is probably new, and to which the caller then appends. If
// the stream seems empty because its events are missing, that append fails with eventstore.ErrCut,
// and not LoadToAppend.
func (s *Streams) LoadToAppend(ctx context.Context, stream string) (History, error) {
	recorded, err := s.cfg.Store.LoadToAppend(ctx, stream)
	if err != nil {
		return History{}, err
	}
	loaded, err := decode(ctx, recorded)
	if err == nil {
		err = loaded.Err()
	}
	if err != nil {
		return loaded, err
	}
	return s.open(ctx, stream, loaded)
}

// Open returns an event of a stream with its personal data opened. It fails with
// sealing.ErrUnreadable if the data was not sealed for the stream, and with ErrNoKey and ErrNoKeys.
func (s *Streams) Open(ctx context.Context, e events.Event, stream string) (events.Event, error) {
	return s.personal.open(ctx, e, stream)
}

// open opens the personal data of a stream. If the data of an event cannot be opened with the key
// of its owner, the event counts as one that cannot be decoded.
func (s *Streams) open(ctx context.Context, stream string, loaded History) (History, error) {
	opened, at, err := s.personal.openAll(
		ctx, loaded.Events, loaded.Recorded, stream,
	)
	if errors.Is(err, sealing.ErrUnreadable) {
		undecoded := loaded.Recorded[at].Undecoded(err)
		loaded.Undecoded = append(loaded.Undecoded, undecoded)
		return loaded, undecoded
	}
	return History{Recorded: loaded.Recorded, Events: opened}, err
}
