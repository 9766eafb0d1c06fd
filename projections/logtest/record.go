package logtest

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"linkledger/events"
	"linkledger/events/eventstore"
)

// WithNUL is a text that v0.1.0 stored with NUL, as projections read it.
const WithNUL = "nul:\ufffd"

// Noon is the time of events whose time does not matter.
var Noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

// Stored returns the body of an event as former versions have stored it, with control characters.
func Stored(e events.Event) []byte {
	body, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return bytes.ReplaceAll(body, []byte(WithNUL), []byte(`nul:\u0000`))
}

// Record appends events of a stream to a log, in their stored form, at positions after the last
// event of the log. revision is that of the first appended event.
func Record(
	log []eventstore.Recorded, stream string, revision eventstore.Revision, es ...events.Event,
) []eventstore.Recorded {
	for _, e := range es {
		body := Stored(e)
		at := eventstore.Position{Commit: 100, Prepare: 100}
		if len(log) > 0 {
			last := log[len(log)-1].Position.Commit + uint64(len(body)) + 1
			at = eventstore.Position{Commit: last, Prepare: last}
		}
		log = append(log, eventstore.Recorded{
			ID: uuid.New(), Stream: stream, Revision: revision, Position: at, Type: e.EventType(),
			Time: Noon.Add(time.Duration(len(log)) * time.Second), Data: body,
		})
		revision++
	}
	return log
}
