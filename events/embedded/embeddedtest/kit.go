// Package embeddedtest contains helpers that tests of several packages of the embedded event store
// share.
package embeddedtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"linkledger/events/embedded/groupcommit"
	"linkledger/events/embedded/ledger"
	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// Proposals returns an event for each name. The id of an event derives from its name.
func Proposals(names ...string) []record.Proposed {
	list := make([]record.Proposed, len(names))
	for i, name := range names {
		list[i] = record.Proposed{
			ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)), Type: "test.happened.v1", JSON: true,
			Data: fmt.Appendf(nil, "%q", name),
		}
	}
	return list
}

// Append appends an event for each name to a stream.
func Append(to *groupcommit.Writer, stream string, expected int64, names ...string) ledger.Outcome {
	return to.Submit(context.Background(), 0, func(l *ledger.Ledger) ledger.Outcome {
		return l.Append(stream, expected, Proposals(names...))
	})
}

// Remove deletes or tombstones a stream. plan is Ledger.Delete or Ledger.Tombstone.
func Remove(
	to *groupcommit.Writer, stream string, expected int64,
	plan func(*ledger.Ledger, string, int64) ledger.Outcome,
) ledger.Outcome {
	return to.Submit(
		context.Background(), 0,
		func(l *ledger.Ledger) ledger.Outcome { return plan(l, stream, expected) },
	)
}

// Fill writes every kind of stream.
func Fill(t testing.TB, to *groupcommit.Writer) {
	t.Helper()
	for i := range 20 {
		stream := fmt.Sprintf("url-%d", i)
		for j := range i + 1 {
			out := Append(to, stream, int64(j-1), fmt.Sprintf("%d/%d", i, j))
			if out.Err != nil {
				t.Fatal(out.Err)
			}
		}
	}
	Append(to, "$$url-1", revision.Any, `not metadata`)
	Append(to, "$$only-metadata", revision.Any, `{}`)
	Append(to, "$$$$deep", revision.Any, `{}`)
	Remove(to, "url-2", revision.Any, (*ledger.Ledger).Delete)
	Append(to, "url-2", revision.Any, "undeleted")
	Remove(to, "url-3", revision.Any, (*ledger.Ledger).Delete)
	Remove(to, "url-4", revision.Any, (*ledger.Ledger).Tombstone)
	Remove(to, "never-written", revision.Any, (*ledger.Ledger).Tombstone)
}
