package deadletter

import "linkledger/events/eventstore"

// GivenUp returns a Discarded with the event at a revision of a stream.
func GivenUp(stream string, revision eventstore.Revision) Discarded {
	return Discarded{place{stream, revision}: {}}
}
