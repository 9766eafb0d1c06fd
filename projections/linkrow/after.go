package linkrow

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
)

// After applies an event to the row of its link and returns the row. row is nil before the link's
// creation. If the event contradicts the row, After returns ErrContradiction.
func After(id uuid.UUID, row *readmodel.Link, event projection.Event) (*readmodel.Link, error) {
	created, isNew := event.Body.(events.URLCreated)
	switch {
	case isNew && row != nil:
		return nil, fmt.Errorf("%w: the link exists", projection.ErrContradiction)
	case isNew:
		return newLink(id, event, created)
	case row == nil:
		return nil, fmt.Errorf("%w: the link was never created", projection.ErrContradiction)
	}
	// A later deletion may have been applied at once, while this event was set aside. The event
	// then changes the link as it was before the deletion, and the link stays deleted.
	ended, revision := row.DeletedAt, int64(event.Revision)
	if event.Detached && !ended.IsZero() && revision < row.Revision {
		revision, row.DeletedAt = row.Revision, time.Time{}
		defer func() { row.DeletedAt = ended }()
	}
	if _, restored := event.Body.(events.URLRestored); restored == row.DeletedAt.IsZero() {
		return nil, fmt.Errorf(
			"%w: only deleted links can be restored, and only live ones changed otherwise",
			projection.ErrContradiction,
		)
	}
	row.Revision = revision
	return row, changeLink(row, event)
}

func newLink(id uuid.UUID, event projection.Event, e events.URLCreated) (*readmodel.Link, error) {
	account, err := projection.ParseID(e.Account)
	if err != nil {
		return nil, err
	}
	tags, err := projection.ParseIDs(e.Tags)
	if err != nil {
		return nil, err
	}
	row := &readmodel.Link{
		ID: id, AccountID: account, Hash: e.Hash, LongURL: e.LongURL, Note: e.Note,
		TagIDs: attach(nil, tags), CreatedAt: e.At, ModifiedAt: e.At,
		Position: event.CommitPosition(), Revision: int64(event.Revision),
	}
	if err := setSettings(row, e.Settings); err != nil {
		return nil, err
	}
	return row, projection.CheckTime(e.At)
}

// changeLink applies an event of an existing link to its row.
func changeLink(row *readmodel.Link, event projection.Event) error {
	switch e := event.Body.(type) {
	case events.URLRetargeted:
		row.LongURL = e.LongURL
		return modified(row, e.At)
	case events.URLRenamed:
		row.Hash = e.To
		return modified(row, e.At)
	case events.URLSettingsChanged:
		if e.Note != nil {
			row.Note = *e.Note
		}
		settings := settingsOf(row)
		settings.Apply(e.SettingsChange)
		if err := setSettings(row, settings); err != nil {
			return err
		}
		return modified(row, e.At)
	case events.URLTagged:
		tags, err := projection.ParseIDs(e.Tags)
		if err != nil {
			return err
		}
		row.TagIDs = attach(row.TagIDs, tags)
		return modified(row, e.At)
	case events.URLUntagged:
		tags, err := projection.ParseIDs(e.Tags)
		if err != nil {
			return err
		}
		row.TagIDs = slices.DeleteFunc(
			slices.Clone(row.TagIDs), func(id uuid.UUID) bool { return slices.Contains(tags, id) },
		)
		return modified(row, e.At)
	case events.URLStatsReset:
		return projection.CheckTime(e.At) // changes counters, not the link
	case events.URLStatsRestored:
		return projection.CheckTime(e.At)
	case events.URLRestored:
		row.Hash, row.DeletedAt = e.Hash, time.Time{}
		return modified(row, e.At)
	case events.URLDeleted:
		row.DeletedAt = e.At
		return projection.CheckTime(e.At)
	}
	return projection.Unexpected(event)
}

func modified(row *readmodel.Link, at time.Time) error {
	row.ModifiedAt = at
	return projection.CheckTime(at)
}

// attach appends the tags that are not attached already.
func attach(attached, tags []uuid.UUID) []uuid.UUID {
	for _, id := range tags {
		if !slices.Contains(attached, id) {
			attached = append(attached, id)
		}
	}
	return attached
}
