package ledger

import (
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// systemEvents are the events that EventStoreDB writes to a new store, as far as clients can notice
// them. This store writes them too, because tools look for a user in $users, and so that no client
// relies on an empty $all.
var systemEvents = []struct {
	stream, kind, data string
	json               bool
}{
	{
		"$$$scavenges", record.TypeMetadata,
		`{"$maxAge":2592000,"$acl":{"$r":["$ops"],"$mr":["$ops"]}}`, true,
	},
	{
		"$$$user-admin", record.TypeMetadata,
		`{"$acl":{"$r":"$admins","$w":"$admins","$d":"$admins"}}`, true,
	},
	{
		"$user-admin", "$UserCreated",
		`{"loginName":"admin","fullName":"Event Store Administrator","groups":["$admins"]}`, true,
	},
	{"$users", "$User", "admin", false},
	{
		"$$$user-ops", record.TypeMetadata,
		`{"$acl":{"$r":"$admins","$w":"$admins","$d":"$admins"}}`, true,
	},
	{
		"$user-ops", "$UserCreated",
		`{"loginName":"ops","fullName":"Event Store Operations","groups":["$ops"]}`, true,
	},
	{"$users", "$User", "ops", false},
}

// startEmpty prepares the ledger of a new log. The first write MUST be Bootstrap. startEmpty
// returns ErrCorrupt if the log has events, because then the counters are missing.
func (l *Ledger) startEmpty() error {
	iter, err := record.NewIter(l.db, 0)
	if err != nil {
		return err
	}
	found := iter.First()
	if err := iter.Close(); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if found {
		return fmt.Errorf("%w: events without counters", record.ErrCorrupt)
	}
	l.next = record.FirstPosition
	return nil
}

// Bootstrap writes the first events of a new log to the group.
func (l *Ledger) Bootstrap() Outcome {
	for _, e := range systemEvents {
		p := record.Proposed{ID: uuid.New(), Type: e.kind, JSON: e.json, Data: []byte(e.data)}
		if out := l.Append(e.stream, revision.Any, []record.Proposed{p}); out.Err != nil {
			return out
		}
	}
	return Outcome{}
}
