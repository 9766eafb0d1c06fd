package embedded

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

// systemEvents are what a fresh store of the real server holds, as far as
// clients can notice: nobody may rely on an empty $all, and tools look for a
// user in $users.
var systemEvents = []struct {
	stream, kind, data string
	json               bool
}{
	{"$$$scavenges", typeMetadata, `{"$maxAge":2592000,"$acl":{"$r":["$ops"],"$mr":["$ops"]}}`, true},
	{"$$$user-admin", typeMetadata, `{"$acl":{"$r":"$admins","$w":"$admins","$d":"$admins"}}`, true},
	{"$user-admin", "$UserCreated", `{"loginName":"admin","fullName":"Event Store Administrator","groups":["$admins"]}`, true},
	{"$users", "$User", "admin", false},
	{"$$$user-ops", typeMetadata, `{"$acl":{"$r":"$admins","$w":"$admins","$d":"$admins"}}`, true},
	{"$user-ops", "$UserCreated", `{"loginName":"ops","fullName":"Event Store Operations","groups":["$ops"]}`, true},
	{"$users", "$User", "ops", false},
}

// bootstrap writes the beginning of a new log, all of it or nothing, before the
// writer's goroutines run.
func (s *Store) bootstrap() error {
	iter, err := newLogIter(s.db, 0)
	if err != nil {
		return err
	}
	found := iter.First()
	if err := iter.Close(); err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if found {
		return fmt.Errorf("%w: events without counters", ErrCorrupt)
	}
	l := s.writer.ledger
	l.next = firstPosition
	s.tail = newTail(0)
	events := func(l *ledger) outcome {
		for _, e := range systemEvents {
			p := proposed{id: uuid.New(), kind: e.kind, json: e.json, data: []byte(e.data)}
			if out := l.planAppend(e.stream, expectAny, []proposed{p}); out.err != nil {
				return out
			}
		}
		return outcome{}
	}
	req := &write{ctx: context.Background(), plan: events, done: make(chan outcome, 1)}
	s.writer.land(s.writer.launch([]*write{req}))
	out := <-req.done
	return out.err
}
