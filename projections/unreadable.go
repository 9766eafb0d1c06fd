package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"linkledger/events/eventstore"
)

// errUnreadable means that an event cannot be decoded: this version does not know its type, or its body is damaged. Its text
// begins the error of a dead letter that retryReadable tries again.
var errUnreadable = errors.New("event cannot be read")

// letter is an event that is set aside, and why.
type letter struct {
	eventstore.Recorded

	cause error
}

// sorted are the events of a batch by what becomes of them.
type sorted struct {
	facts   []fact
	letters []letter              // in the order of the log
	skipped []eventstore.Recorded // no event of Linkledger
}

// sortOut decodes events. One that cannot be decoded becomes a dead letter, whatever the policy is, and so does what follows
// in its stream: a damaged stream MUST NOT keep the projection from all others.
func (p *projector) sortOut(recorded []eventstore.Recorded) sorted {
	s := sorted{facts: make([]fact, 0, len(recorded))}
	var parked map[string]struct{} // by this batch
	for i, r := range recorded {
		if !p.raw && isForeign(r) {
			s.skipped = append(s.skipped, r)
			continue
		}
		if _, now := parked[r.Stream]; now || p.isParked(r) {
			s.letters = append(s.letters, letter{r, errFollows})
			continue
		}
		f := fact{Recorded: r, index: i}
		if !p.raw {
			var err error
			if f.body, err = r.Event(); err != nil {
				s.letters = append(s.letters, letter{r, fmt.Errorf("%w: %w", errUnreadable, errors.Unwrap(err))}) // which names the event too
				if parked == nil {
					parked = make(map[string]struct{})
				}
				parked[r.Stream] = struct{}{}
				continue
			}
		}
		s.facts = append(s.facts, f)
	}
	return s
}

// isForeign reports whether an event is none of Linkledger although its stream is named like one: the event store has put it
// there, as a tombstone, or PostgreSQL cannot hold the name.
func isForeign(r eventstore.Recorded) bool {
	return r.IsSystem() || !utf8.ValidString(r.Stream) || strings.ContainsRune(r.Stream, 0)
}

// note logs what was not applied, and remembers the streams that have dead letters now.
func (p *projector) note(ctx context.Context, letters []letter, skipped []eventstore.Recorded) {
	for _, r := range skipped {
		p.logger.WarnContext(ctx, "event skipped that Linkledger did not write: run linkledger audit verify", p.about(r)...)
	}
	for _, l := range letters {
		if _, known := p.parked[l.Stream]; !known {
			p.logger.ErrorContext(ctx, "event set aside, with what follows in its stream: see linkledger projections dead-letters",
				append(p.about(l.Recorded), slog.Any("error", l.cause))...)
			p.parked[l.Stream] = struct{}{}
		}
	}
	p.status.setAside(len(letters), len(skipped))
}

func (p *projector) about(r eventstore.Recorded) []any {
	return []any{
		slog.String("projection", p.name), slog.String("stream", r.Stream), slog.Int64("revision", int64(r.Revision)),
		slog.String("type", r.Type), slog.String("position", r.Position.String()),
	}
}

// retryReadable applies the dead letters of those streams whose first one can be read by now, because an older version has set
// it aside. The term of this process ends by that, and the next one begins without them.
func (t *term) retryReadable(ctx context.Context) error {
	if !t.serving {
		return nil
	}
	letters, err := DeadLetters(ctx, t.cfg.DB, t.projector.name)
	if err != nil {
		return err
	}
	for _, l := range letters {
		if l.Generation != t.projector.at.generation || !strings.HasPrefix(l.Error, errUnreadable.Error()) {
			continue
		}
		if _, err := (eventstore.Recorded{Type: l.Type, Data: l.Data}).Event(); err != nil {
			continue
		}
		n, err := RetryDeadLetters(ctx, t.cfg.DB, t.projector.name, l.Stream)
		if err != nil {
			return err
		}
		t.cfg.Logger.InfoContext(ctx, "dead letters applied that this version can read",
			append(t.attributes(), slog.String("stream", l.Stream), slog.Int("events", n))...)
	}
	return nil
}
