package ledger

import (
	"fmt"

	"github.com/google/uuid"

	"linkledger/events/embedded/record"
	"linkledger/events/embedded/revision"
)

// systemEvents are what a fresh store of the real server holds, as far as
// clients can notice: nobody may rely on an empty $all, and tools look for a
// user in $users.
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

// beginLog prepares the ledger for the first write to a new log, which must be
// Begin.
func (l *Ledger) beginLog() error {
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

// Begin writes the beginning of a new log, all of it or nothing.
func (l *Ledger) Begin() Outcome {
	for _, e := range systemEvents {
		p := record.Proposed{ID: uuid.New(), Type: e.kind, JSON: e.json, Data: []byte(e.data)}
		if out := l.Append(e.stream, revision.Any, []record.Proposed{p}); out.Err != nil {
			return out
		}
	}
	return Outcome{}
}
