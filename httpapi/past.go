package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"linkledger/commands/audit"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/progress"
)

// recently is how long a moment is asked for while the read model of the past may not have all of it: that takes in most
// changes within half a second, in portions.
const recently = 5 * time.Second

// past says, beside what was, when that was.
type past struct {
	At string `json:"at"`
	// ClicksUntil ends the last day whose clicks are counted.
	ClicksUntil timestamp `json:"clicks_until"`
}

// pastOf returns nil for the zero time, which means now.
func pastOf(at time.Time) *past {
	if at.IsZero() {
		return nil
	}
	return &past{at.Format(time.RFC3339Nano), timestamp(clicksUntil(at))}
}

// clicksUntil is the end of the day in which a moment lies.
func clicksUntil(at time.Time) time.Time {
	const day = 24 * time.Hour
	return at.Add(day - time.Nanosecond).Truncate(day)
}

// awaitClicksUntil waits for the clicks of this node where those of a moment may be among them; zero: now.
func (s *server) awaitClicksUntil(e *exchange, at time.Time) {
	if at.IsZero() || clicksUntil(at).After(s.cfg.Now()) {
		s.awaitClicks(e, projectionLinks)
	}
}

// moment returns the moment that a call asks for; zero: none. It returns when the read model has all of it, or when that takes
// too long.
func (s *server) moment(e *exchange, query url.Values) (time.Time, error) {
	text := query.Get("at")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1)) // as a raw + arrives
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	now := s.cfg.Now()
	switch {
	case err != nil || at.IsZero() || at.UTC().Year() < 1: // PostgreSQL has no year 0
		return time.Time{}, &apiError{code: codeInvalidDate, details: "at must be a time as 2026-01-31T12:00:00Z, or a day, which means its beginning"}
	case at.After(now):
		return time.Time{}, &apiError{code: codeInvalidDate, details: "at lies in the future, it is " + now.UTC().Format(time.RFC3339Nano)}
	case at.After(now.Add(-recently)):
		s.awaitHistory(e)
	}
	return at.UTC(), nil
}

// awaitHistory waits for what this node may have shown already.
func (s *server) awaitHistory(e *exchange) {
	ctx, cancel := context.WithTimeout(e.context(), s.cfg.WaitTimeout)
	defer cancel()
	err := s.cfg.Overtake(ctx, projectionHistory, projectionLinks, projectionTags, projectionAccounts)
	if err != nil && !errors.Is(err, progress.ErrUnowned) {
		s.cfg.Logger.WarnContext(e.context(), "read answered before the history shows all changes",
			slog.String("request", e.id), slog.Any("error", err))
	}
}

// gone is the refusal for a hash under which no URL lived at a moment. Where it had gone the log knows alone.
func (s *server) gone(e *exchange, hash string, at time.Time) error {
	_, err := s.cfg.Histories.LinkAsOf(e.context(), audit.AsOfQuery{Hash: hash, Time: at, Account: e.account.ID.String()})
	if refusedAs(err, domain.URLNotFound) {
		return err
	}
	return queries.ErrNotFound // which is so also where the log can't be asked
}
