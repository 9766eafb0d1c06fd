package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// Replay calls visit for each entry of a history and for each click on its links, in the order of
// the log. It stops at the first error that visit returns. All links share the streams of clicks,
// so Replay reads the log from the first entry to the end, one batch at a time.
func (a *Reader) Replay(ctx context.Context, history History, visit func(Entry) error) error {
	head, err := a.store.Head(ctx)
	if err != nil {
		return err
	}
	links := make(map[string]bool, len(history.Links))
	for _, link := range history.Links {
		links[link.ID] = true
	}
	replay := merger{left: history.Entries, visit: visit}
	if len(links) > 0 {
		err := a.store.ReadLog(ctx, history.Entries[0].Position, head, func(
			batch []eventstore.Recorded,
		) error {
			for _, r := range batch {
				clicks, err := clicksOn(links, r)
				// Another program wrote the event, so Replay logs it and goes on.
				if err != nil {
					a.logger.WarnContext(
						ctx, "unreadable event of clicks skipped: run linkledger audit verify",
						slog.Any("error", err),
					)
					continue
				}
				if err := replay.clicks(r.Position, clicks); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return replay.entries(func(Entry) bool { return true })
}

// merger merges the entries of a history with the clicks on its links.
type merger struct {
	left  []Entry
	visit func(Entry) error
}

// clicks visits the clicks of the event at a position, after the entries before that position.
func (r *merger) clicks(at eventstore.Position, clicks []Entry) error {
	if len(clicks) == 0 {
		return nil
	}
	if err := r.entries(func(e Entry) bool { return !e.Position.After(at) }); err != nil {
		return err
	}
	for _, click := range clicks {
		if err := r.visit(click); err != nil {
			return err
		}
	}
	return nil
}

// entries visits the next entries while wanted returns true.
func (r *merger) entries(wanted func(Entry) bool) error {
	for len(r.left) > 0 && wanted(r.left[0]) {
		if err := r.visit(r.left[0]); err != nil {
			return err
		}
		r.left = r.left[1:]
	}
	return nil
}

// clicksOn returns the clicks of an event on the links.
func clicksOn(links map[string]bool, r eventstore.Recorded) ([]Entry, error) {
	if r.Type != (events.ClicksRecorded{}).EventType() {
		return nil, nil
	}
	var recorded events.ClicksRecorded
	if err := json.Unmarshal(r.Data, &recorded); err != nil {
		return nil, fmt.Errorf("event %d of %s: %w", r.Revision, r.Stream, err)
	}
	var entries []Entry
	for _, click := range recorded.Clicks {
		if links[click.URLID] {
			entries = append(entries, Entry{
				Position: r.Position, Commit: r.Position.Commit, Stream: r.Stream,
				Revision: r.Revision, ID: r.ID, Type: r.Type,
				Time: click.At, Link: click.URLID,
				Actor: Actor{Kind: ByVisitor, Visitor: click.Visitor}, Changes: []FieldChange{},
			})
		}
	}
	return entries, nil
}
