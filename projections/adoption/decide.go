package adoption

// What a node does with a database, decided on values alone.

import (
	"errors"
	"fmt"
	"time"

	"linkledger/events"
)

// ErrOtherDatabase means that the log says that another database serves. Its message says which
// one, and how to use this one in its place.
var ErrOtherDatabase = errors.New("this database does not serve")

// Serving is the newest adoption of the log.
type Serving struct {
	events.DatabaseAdopted

	Number int64 // of the adoption, from 1 on; 0: the log has none
}

// Found is a database as a node finds it.
type Found struct {
	System   string
	Database uint32
	Timeline uint32
	Address  string // at which the node reaches it
	Standby  bool   // it follows a primary
	Keys     bool   // it has the schema of keys, and that has content
	Prepared bool   // it can keep a token
	Built    bool   // its read models contain events

	// Token is empty if the database has none. Former is the token that the log had when this one
	// was made, and Made the timeline of then.
	Token, Former string
	Made          uint32
}

// Verdict is what a node does with a database.
type Verdict int

// The verdicts.
const (
	Refuse Verdict = iota
	Serve          // it was adopted last
	Adopt          // it may take the place of the one that was adopted last
)

// Decide returns what a node does with a database. replace is the number of the adoption that an
// operator lets any database replace, or 0.
//
// A database of another cluster or number without events in its read models is new, or was made of
// a dump of the keys. It contains nothing that could be old except the keys, which were just
// loaded, so it is adopted.
func Decide(serving Serving, found Found, replace int64) Verdict {
	same := found.System == serving.System && found.Database == serving.Database
	switch {
	case found.Standby:
		return Refuse
	case serving.Number == 0:
		return Adopt
	case same && found.Timeline == serving.Timeline && found.Token == serving.Token:
		return Serve
	case same && found.Timeline > serving.Timeline && found.follows(serving.Token):
		return Adopt
	case found.pending(serving.Token), !same && !found.Built, replace == serving.Number:
		return Adopt
	}
	return Refuse
}

// follows reports whether the token of the log is the last one that the log had from this database
// or its primary. A later token, which is not in the log, was given up.
func (f Found) follows(token string) bool { return f.Token == token || f.Former == token }

// pending reports whether the token was made for this very database after the token of the log, and
// the process ended before the log had it. A standby that was promoted since then makes its own:
// two of them MUST NOT have the same.
func (f Found) pending(token string) bool {
	return f.Token != "" && f.Token != token && f.Former == token && f.Made == f.Timeline
}

// refusal returns why a database is refused.
func refusal(serving Serving, found Found) error {
	how := "has another system identifier"
	switch {
	case found.System == serving.System && found.Database != serving.Database:
		how = "is another database of the same cluster"
	case found.System == serving.System && found.Timeline < serving.Timeline:
		how = "is a former primary: a standby of it was promoted"
	case found.System == serving.System:
		how = "is a copy, or a standby, of a state before that"
	}
	at := ""
	if serving.Address != "" {
		at = " at " + serving.Address
	}
	return fmt.Errorf("%w: it %s (%s). Since %s the database%s serves (%s). Name that one in "+
		"--database, or, to serve from this one in its place, start one node once with "+
		"--replace-database=%d",
		ErrOtherDatabase, how, name(found.System, found.Database, found.Timeline),
		serving.At.UTC().Format(time.RFC3339), at,
		name(serving.System, serving.Database, serving.Timeline), serving.Number)
}

func name(system string, database, timeline uint32) string {
	return fmt.Sprintf("system %s, timeline %d, database %d", system, timeline, database)
}
