package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"linkledger/events"
	"linkledger/projections/projection"
	"linkledger/projections/readmodel"
	"linkledger/projections/sqlbatch"
)

// Name is the name of the projection.
const Name = "activity"

// minDelay is the shortest time between two batches. It can be that long because only readers of
// the activity wait for this projection.
const minDelay = 500 * time.Millisecond

// Projection returns the projection of the calls. It takes events without their bodies, because the
// types and the metadata of the events are enough to tell what a call did.
func Projection() projection.Definition {
	return projection.Definition{
		Name: Name, Folds: projection.FoldsOf(newFold), Raw: true,
		Filter: projection.Streams(
			events.StreamURL, events.StreamHash, events.StreamTags, events.StreamAccount,
		),
		NeverAwaited: true, MinDelay: minDelay,
	}
}

// fold updates the table of calls. It holds the calls that wrote the events of a batch, as they are
// after the events applied so far.
type fold struct {
	calls map[uuid.UUID]*call
	// decoded has the metadata decoded so far. The events of a call share an entry, because their
	// metadata differ only in the causation.
	decoded map[callText]*metadata
}

type call struct {
	readmodel.Activity
	stored bool // the table has a row of the call
}

func newFold() projection.Fold {
	return &fold{
		calls: make(map[uuid.UUID]*call), decoded: make(map[callText]*metadata),
	}
}

// metadata is the part of events.Metadata that the projection reads.
type metadata struct {
	id   uuid.UUID // Batch, parsed
	isID bool      // Batch is a UUID

	Batch       string    `json:"batch"`
	Account     string    `json:"account"`
	Key         string    `json:"key"`
	User        string    `json:"user"`
	Via         string    `json:"via"`
	Request     string    `json:"request"`
	Undoes      string    `json:"undoes"`
	UndoesKey   string    `json:"undoes_key"`
	UndoesSince time.Time `json:"undoes_since"`
}

// metadataOf returns the metadata of an event. ok is false if the activity does not show the event,
// or if the event does not belong to a call whose id is a UUID.
func (f *fold) metadataOf(event projection.Event) (m *metadata, ok bool, err error) {
	if projection.IsForeign(event.Recorded) || len(event.Metadata) == 0 ||
		kindOf(event) == nil {
		return nil, false, nil
	}
	text := withoutCausation(event.Metadata)
	if m = f.decoded[text]; m == nil {
		m = new(metadata)
		if err := json.Unmarshal(event.Metadata, m); err != nil {
			return nil, false, fmt.Errorf("metadata: %w", err)
		}
		id, err := uuid.Parse(m.Batch)
		m.id, m.isID = id, err == nil
		f.decoded[text] = m
	}
	return m, m.isID, nil
}

// callText is the text of an event's metadata without the id of the causation, which differs
// between the links that a call changes. It leaves out nothing else, so metadata with the same
// callText differ only in that id.
type callText struct{ before, after string }

func withoutCausation(text []byte) callText {
	before, after, _ := bytes.Cut(text, []byte(`"$causationId":"`))
	id, after, _ := bytes.Cut(after, []byte(`"`))
	if _, err := uuid.ParseBytes(id); err != nil || len(after) == 0 {
		return callText{before: string(text)}
	}
	return callText{string(before), string(after)}
}

func (f *fold) Read(s *sqlbatch.Batch, batch []projection.Event) {
	seen := make(map[uuid.UUID]struct{})
	var ids sqlbatch.UUIDs
	for _, event := range batch {
		m, ok, _ := f.metadataOf(event) // Apply returns the error
		if !ok {
			continue
		}
		if _, again := seen[m.id]; !again {
			seen[m.id] = struct{}{}
			ids = append(ids, sqlbatch.UUID(m.id))
		}
	}
	if len(ids) == 0 {
		return
	}
	s.Queue(`SELECT `+columns.List("")+` FROM ?schema.activity WHERE batch = ANY($1::uuid[])`,
		ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			row := &call{stored: true}
			if err := rows.Scan(columns.Scan(&row.Activity)...); err != nil {
				return err
			}
			f.calls[row.Batch] = row
		}
		return rows.Err()
	})
}

func (f *fold) Apply(event projection.Event) error {
	m, ok, err := f.metadataOf(event)
	if err != nil || !ok {
		return err
	}
	row := f.calls[m.id]
	if row == nil {
		row = &call{Activity: readmodel.Activity{
			Batch: m.id, AccountID: idOrNil(m.Account), Position: event.CommitPosition(),
			At: event.Time, Key: storable(m.Key), User: idOrNil(m.User), Via: m.way(),
			Request: storable(m.Request),
			Undoes:  idOrNil(m.Undoes), UndoesKey: storable(m.UndoesKey),
			UndoesSince: m.UndoesSince,
		}}
		f.calls[m.id] = row
	}
	row.LastAt = event.Time
	if event.Stream != row.LastStream { // all events of an append lie in one stream, and count once
		row.LastStream = event.Stream
		*kindOf(event)(&row.Activity)++
	}
	return projection.CheckTime(event.Time)
}

// kindOf returns the counter that an event increments if it is the first event of an append. It
// returns nil if the activity does not show the event.
func kindOf(event projection.Event) func(*readmodel.Activity) *int {
	if strings.HasPrefix(event.Stream, events.StreamTags) {
		return func(a *readmodel.Activity) *int { return &a.Tags }
	}
	if strings.HasPrefix(event.Stream, events.StreamAccount) {
		return func(a *readmodel.Activity) *int { return &a.Account }
	}
	return kinds[event.Type]
}

func idOrNil(text string) uuid.UUID {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// storable replaces what PostgreSQL cannot store in a text: NUL and invalid UTF-8.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?")
}

// way returns Metadata.Way of the call.
func (m *metadata) way() string {
	return storable(events.Metadata{Via: m.Via, Account: m.Account}.Way())
}

func (f *fold) Size() int { return len(f.calls) }

func (f *fold) Write(s *sqlbatch.Batch) []string {
	var fresh, stored []*readmodel.Activity
	for _, row := range f.calls {
		if row.stored {
			stored = append(stored, &row.Activity)
		} else {
			fresh = append(fresh, &row.Activity)
		}
	}
	s.Copy("activity", columns.Names(), len(fresh), func(r *sqlbatch.Row, i int) {
		columns.Copy(r, fresh[i])
	})
	if len(stored) > 0 {
		s.Queue(columns.Insert("?schema.activity")+`
			ON CONFLICT (batch) DO UPDATE SET `+columns.Assign("EXCLUDED"),
			columns.Arrays(stored)...)
	}
	return nil
}
