package readmodel

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// Generation is a row of generations: the checkpoint, the owner and the state of one generation of
// a projection.
type Generation struct {
	bun.BaseModel `bun:"table:linkledger.generations,alias:generation"`

	Name       string `bun:"name,pk"` // of the projection
	Generation int    `bun:"generation,pk"`
	Serving    bool   `bun:"serving"`    // readers see it
	Shape      string `bun:"shape"`      // see Shape
	Built      bool   `bun:"built"`      // it serves or has served
	CommitPos  int64  `bun:"commit_pos"` // the log is in the tables up to here
	PreparePos int64  `bun:"prepare_pos"`
	// The witness is the last event that is known to be in the log, at the checkpoint or before.
	WitnessCommit  int64     `bun:"witness_commit"`
	WitnessPrepare int64     `bun:"witness_prepare"`
	WitnessID      uuid.UUID `bun:"witness_id,type:uuid,nullzero"` // zero: not known
	Epoch          int64     `bun:"epoch"`                         // see package engine
	Owner          string    `bun:"owner"`                         // empty: none
	LeaseUntil     time.Time `bun:"lease_until,nullzero,default:'epoch'"`
	Paused         bool      `bun:"paused"` // by an operator: no process may own it
	// Resumptions counts how often operators have requested that a stopped generation tries again.
	Resumptions int64     `bun:"resumptions"`
	Stopped     bool      `bun:"stopped"`    // the owner waits before it tries a failed batch again
	LastError   string    `bun:"last_error"` // why the owner makes no progress; empty: it does
	Rate        float64   `bun:"rate"`       // events per second, recently
	UpdatedAt   time.Time `bun:"updated_at"`
	CreatedAt   time.Time `bun:"created_at,scanonly"`
	BuiltAt     time.Time `bun:"built_at,scanonly,nullzero"` // zero: no build of it has ended
	BuiltPos    int64     `bun:"built_pos,scanonly"`         // the commit position at that time
	// Judgement is the number of the row of linkledger_durable.judgements that judges the clicks. 0
	// means that no row does, and nil that the newest row will be chosen.
	Judgement *int64 `bun:"judgement"`
}

// DeadLetter is a row of dead_letters: an event that was set aside.
type DeadLetter struct {
	bun.BaseModel `bun:"table:linkledger.dead_letters,alias:letter"`

	Name       string    `bun:"name,pk"`
	Generation int       `bun:"generation,pk"`
	CommitPos  int64     `bun:"commit_pos,pk"`
	PreparePos int64     `bun:"prepare_pos,pk"`
	EventID    uuid.UUID `bun:"event_id,type:uuid"`
	Stream     string    `bun:"stream"`
	Revision   int64     `bun:"revision"`
	Type       string    `bun:"type"`
	RecordedAt time.Time `bun:"recorded_at"`
	Data       []byte    `bun:"data"`
	Error      string    `bun:"error"`
	ParkedAt   time.Time `bun:"parked_at,nullzero,default:now()"`
}

// Link is a row of links.
type Link struct {
	bun.BaseModel `bun:"table:linkledger.links,alias:link"`

	ID             uuid.UUID   `bun:"id,pk,type:uuid"`
	AccountID      uuid.UUID   `bun:"account_id,type:uuid"`
	Number         int         `bun:"number"` // counts the account's links from 0
	Hash           string      `bun:"hash"`
	LongURL        string      `bun:"long_url"`
	Note           string      `bun:"note"`
	EmailStats     bool        `bun:"email_stats"`
	Ping           bool        `bun:"ping"`
	Protected      bool        `bun:"protected"`
	Archived       bool        `bun:"archived"`
	ExpirationDate *time.Time  `bun:"expiration_date"` // midnight, UTC; nil: never
	MaxClicks      int64       `bun:"max_clicks"`      // 0: no limit
	TagIDs         []uuid.UUID `bun:"tag_ids,array"`   // in the order they were attached
	CreatedAt      time.Time   `bun:"created_at"`
	ModifiedAt     time.Time   `bun:"modified_at"`
	Position       int64       `bun:"position"` // commit position of the creation
	// Revision is the revision of the last event of the link's stream that is in the row.
	Revision  int64     `bun:"revision"`
	DeletedAt time.Time `bun:"deleted_at,nullzero"` // zero: live
}

// LinkStats is a row of link_stats.
type LinkStats struct {
	bun.BaseModel `bun:"table:linkledger.link_stats,alias:stats"`

	URLID        uuid.UUID `bun:"url_id,pk,type:uuid"`
	AccountID    uuid.UUID `bun:"account_id,type:uuid"`
	Number       int       `bun:"number"` // as in Link
	TotalClicks  int64     `bun:"total_clicks"`
	UniqueClicks int64     `bun:"unique_clicks"`
	LastVisit    time.Time `bun:"last_visit,nullzero"`
	Visited      bool      `bun:"visited"`
}

// LinkDay is a row of link_days.
type LinkDay struct {
	bun.BaseModel `bun:"table:linkledger.link_days,alias:day"`

	URLID        uuid.UUID `bun:"url_id,pk,type:uuid"`
	Day          time.Time `bun:"day,pk"` // midnight, UTC
	TotalClicks  int64     `bun:"total_clicks"`
	UniqueClicks int64     `bun:"unique_clicks"`
}

// Visitor is a row of visitors.
type Visitor struct {
	bun.BaseModel `bun:"table:linkledger.visitors,alias:visitor"`

	URLID   uuid.UUID `bun:"url_id,pk,type:uuid"`
	Visitor string    `bun:"visitor,pk"` // keyed hash
	// Day is the day of the first click, midnight, UTC; zero: the visitor is also stored under
	// another key.
	Day time.Time `bun:"day,nullzero"`
}

// Tag is a row of tags.
type Tag struct {
	bun.BaseModel `bun:"table:linkledger.tags,alias:tag"`

	ID        uuid.UUID `bun:"id,pk,type:uuid"`
	AccountID uuid.UUID `bun:"account_id,type:uuid"`
	Label     string    `bun:"label"`
	CreatedAt time.Time `bun:"created_at"`
	Position  int64     `bun:"position"` // commit position of the creation
}

// Account is a row of accounts.
type Account struct {
	bun.BaseModel `bun:"table:linkledger.accounts,alias:account"`

	ID             uuid.UUID  `bun:"id,pk,type:uuid"`
	Username       string     `bun:"username"`
	Plan           string     `bun:"plan"`
	Active         bool       `bun:"active"`
	ExpirationDate *time.Time `bun:"expiration_date"` // midnight, UTC; nil: never
	Erased         bool       `bun:"erased"`          // its notes are gone, and it cannot be used
	CreatedAt      time.Time  `bun:"created_at"`
	Changed        int64      `bun:"changed"` // commit position of the last change; 0: none yet
}

// AccountKey is a row of api_keys.
type AccountKey struct {
	bun.BaseModel `bun:"table:linkledger.api_keys,alias:account_key"`

	AccountID      uuid.UUID  `bun:"account_id,pk,type:uuid"`
	ID             string     `bun:"id,pk"`
	Hash           string     `bun:"hash"` // SHA-256 of the key, hex
	Name           string     `bun:"name"`
	Scopes         string     `bun:"scopes"`          // separated by spaces; empty: all
	Tags           string     `bun:"tags"`            // tag expression; empty: all links
	Networks       string     `bun:"networks"`        // separated by spaces; empty: all
	ExpirationDate *time.Time `bun:"expiration_date"` // midnight, UTC; nil: never
	CreatedAt      time.Time  `bun:"created_at"`
	RevokedAt      time.Time  `bun:"revoked_at,nullzero"` // zero: it is not revoked
	Added          int64      `bun:"added"`               // commit position
	Ended          int64      `bun:"ended"`               // commit position of its end; 0: none
}

// AccountMember is a row of account_members.
type AccountMember struct {
	bun.BaseModel `bun:"table:linkledger.account_members,alias:member"`

	AccountID uuid.UUID `bun:"account_id,pk,type:uuid"`
	UserID    uuid.UUID `bun:"user_id,pk,type:uuid"`
	Role      string    `bun:"role"`
	Group     string    `bun:"group_name"` // the group that gives the person the role
	Since     time.Time `bun:"since"`
	Changed   int64     `bun:"changed"`             // commit position of the last change
	RemovedAt time.Time `bun:"removed_at,nullzero"` // zero: the person is a member
}

// Person is a row of people.
type Person struct {
	bun.BaseModel `bun:"table:linkledger.people,alias:person"`

	ID      uuid.UUID `bun:"id,pk,type:uuid"`
	KnownAt time.Time `bun:"known_at"`
	Box     string    `bun:"box"` // the encrypted details, in base64
	Erased  bool      `bun:"erased"`
	Ended   int64     `bun:"ended"` // commit position of the erasure; 0: none
}

// Activity is a row of activity: a call that has changed something.
type Activity struct {
	bun.BaseModel `bun:"table:linkledger.activity,alias:activity"`

	Batch       uuid.UUID `bun:"batch,pk,type:uuid"`
	AccountID   uuid.UUID `bun:"account_id,type:uuid"` // zero: an operator
	Position    int64     `bun:"position"`             // commit position of its first event
	At          time.Time `bun:"at"`                   // by the clock of the event store
	LastAt      time.Time `bun:"last_at"`
	LastStream  string    `bun:"last_stream"` // of its last event
	Key         string    `bun:"key_id"`
	User        uuid.UUID `bun:"user_id,type:uuid"` // the person who called; zero: none
	Via         string    `bun:"via"`               // see events.Metadata
	Request     string    `bun:"request"`
	Created     int       `bun:"created"` // number of links, as in Edited to Reset
	Edited      int       `bun:"edited"`
	Deleted     int       `bun:"deleted"`
	Restored    int       `bun:"restored"`
	Reset       int       `bun:"reset"`
	Tags        int       `bun:"tags"`                  // changes of tags
	Account     int       `bun:"account"`               // changes of the account and its keys
	Undoes      uuid.UUID `bun:"undoes,type:uuid"`      // the call that it undoes; zero: none
	UndoesKey   string    `bun:"undoes_key"`            // the key whose changes it undoes
	UndoesSince time.Time `bun:"undoes_since,nullzero"` // for UndoesKey
}

// TreeTile is a row of tree_tiles.
type TreeTile struct {
	bun.BaseModel `bun:"table:linkledger.tree_tiles,alias:tile"`

	Level      int    `bun:"level,pk"`
	Number     int64  `bun:"number,pk"`
	Hashes     []byte `bun:"hashes"`
	CommitPos  int64  `bun:"commit_pos"`
	PreparePos int64  `bun:"prepare_pos"`
}

// TreeHeight is the height of a tile: a full one has 2^TreeHeight hashes.
const TreeHeight = 8

// TreeTileSize is the length of the hashes of a full tile, in bytes.
const TreeTileSize = 32 << TreeHeight

// TreeLevels is how many levels of tiles there may be, more than a log can fill.
const TreeLevels = 7
