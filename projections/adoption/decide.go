package adoption

// This file decides what a node does with a database. It works on values alone, and reads nothing.

import (
	"errors"
	"fmt"
	"time"

	"linkledger/events"
)

// ErrOtherDatabase means that, according to the log, another database serves. The message names
// that database, and says how to use this one in its place.
var ErrOtherDatabase = errors.New("this database does not serve")

// Serving is the last adoption in the log.
type Serving struct {
	events.DatabaseAdopted

	Number int64 // of the adoption, from 1 on; 0: the log has no adoption
}

// Found is a database as a node finds it.
type Found struct {
	System   string
	Database uint32
	Timeline uint32
	Address  string // at which the node reaches it
	Standby  bool   // it follows a primary
	Keys     bool   // it has the schema of keys, which is not empty
	Prepared bool   // it has the table for a token
	Built    bool   // its read models contain events

	// Token is the token of the database, or empty if it has none. Former is the token that the
	// last adoption in the log had when Token was made. Made is the timeline that the database had
	// at that time.
	Token, Former string
	Made          uint32

	schema string // that has the keys: a database before its upgrade has them in linkledger_keys
}

// Verdict is what a node does with a database.
type Verdict int

// The verdicts.
const (
	Refuse Verdict = iota
	Serve          // the database was adopted last
	Adopt          // the database may replace the one that was adopted last
)

// Decide returns what a node does with a database. replace is the number of an adoption, or 0. An
// operator lets any database replace the database of that adoption.
//
// If a database is of another cluster than the database that was adopted last, or has another OID,
// it is adopted only if its read models contain no events. Such a database is new, or was made from
// a dump of the keys. Nothing in it can be outdated except the keys, and these were just loaded.
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

// follows reports whether the last adoption in the log is that of this database or its primary.
// token is the token of that adoption. The database then has it as Token or as Former. It has it as
// Former if a further adoption, with Token, was begun but never came into the log.
func (f Found) follows(token string) bool { return f.Token == token || f.Former == token }

// pending reports whether an adoption of this very database was begun and not finished. token is
// the token of the last adoption in the log. The database then has a Token that was made after that
// one, but the process ended before the log had it. A Token from another timeline does not count:
// two promoted standbys MUST NOT have the same token, so a standby that was promoted since then
// needs a token of its own.
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
		how = "is a former primary, and a standby of it was promoted"
	case found.System == serving.System:
		how = "is a copy or a standby from before the last adoption"
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
