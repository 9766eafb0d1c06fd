package events

import "time"

// StreamURL prefixes the stream of one link's whole life, across renames: url-<url id>.
const StreamURL = "url-"

// URLCreated opens a link's stream. The hash was claimed before, see HashClaimed.
type URLCreated struct {
	URLID   string `json:"url_id"`
	Account string `json:"account"`
	Hash    string `json:"hash"`
	// revision of the HashClaimed in the hash's stream
	ClaimRevision  uint64    `json:"claim_revision"`
	LongURL        string    `json:"long_url"`
	Note           string    `json:"note,omitempty"`
	EmailStats     bool      `json:"email_stats,omitempty"`
	ExpirationDate string    `json:"expiration_date,omitempty"` // YYYY-MM-DD; empty: never
	MaxClicks      int64     `json:"max_clicks,omitempty"`      // 0: no limit
	Tags           []string  `json:"tags,omitempty"`            // tag ids
	At             time.Time `json:"at"`

	SealedNote *SealedNote `json:"sealed_note,omitempty"` // stored in place of Note
}

// EventType implements Event.
func (URLCreated) EventType() string { return "url.created.v1" }

// URLRetargeted points the link to another destination.
type URLRetargeted struct {
	LongURL string    `json:"long_url"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (URLRetargeted) EventType() string { return "url.retargeted.v1" }

// URLRenamed gives the link another hash, which was claimed before.
type URLRenamed struct {
	From          string    `json:"from"`
	To            string    `json:"to"`
	ClaimRevision uint64    `json:"claim_revision"` // of the claim of To
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (URLRenamed) EventType() string { return "url.renamed.v1" }

// URLSettingsChanged carries the settings that got another value; nil fields kept theirs.
type URLSettingsChanged struct {
	Note           *string   `json:"note,omitempty"`
	EmailStats     *bool     `json:"email_stats,omitempty"`
	Ping           *bool     `json:"ping,omitempty"`
	Protected      *bool     `json:"protected,omitempty"`
	Archived       *bool     `json:"archived,omitempty"`
	ExpirationDate *string   `json:"expiration_date,omitempty"` // empty: the link no longer expires
	MaxClicks      *int64    `json:"max_clicks,omitempty"`
	At             time.Time `json:"at"`

	// stored in place of Note, but for an empty one
	SealedNote *SealedNote `json:"sealed_note,omitempty"`
}

// EventType implements Event.
func (URLSettingsChanged) EventType() string { return "url.settings_changed.v1" }

// URLTagged attaches tags, by their ids.
type URLTagged struct {
	Tags []string  `json:"tags"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (URLTagged) EventType() string { return "url.tagged.v1" }

// URLUntagged detaches tags, by their ids.
type URLUntagged struct {
	Tags []string  `json:"tags"`
	At   time.Time `json:"at"`
}

// EventType implements Event.
func (URLUntagged) EventType() string { return "url.untagged.v1" }

// URLStatsReset starts the link's counters from zero again: clicks that precede it in the log no
// longer count. That the link was visited, and when last, stays known.
type URLStatsReset struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (URLStatsReset) EventType() string { return "url.stats_reset.v1" }

// URLDeleted ends the link. Its hash stays with the account, see HashReleased.
type URLDeleted struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (URLDeleted) EventType() string { return "url.deleted.v1" }

// URLRestored undoes URLDeleted: the link lives again with all that it had, under a hash that was
// claimed anew before.
type URLRestored struct {
	Account       string    `json:"account"`
	Hash          string    `json:"hash"`
	ClaimRevision uint64    `json:"claim_revision"` // of the claim of Hash
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (URLRestored) EventType() string { return "url.restored.v1" }

// URLStatsRestored undoes a URLStatsReset, the last one that was not undone: the clicks that it
// took away count again, beside those that came since.
type URLStatsRestored struct {
	Reset uint64    `json:"reset"` // revision of the URLStatsReset in this stream
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (URLStatsRestored) EventType() string { return "url.stats_restored.v1" }

// ClaimAbandoned is written into a link's stream by whoever takes over a hash that the link claimed
// and never used: an append that is still on its way to use that claim then meets another revision
// and fails.
type ClaimAbandoned struct {
	Hash          string    `json:"hash"`
	ClaimRevision uint64    `json:"claim_revision"`
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (ClaimAbandoned) EventType() string { return "url.claim_abandoned.v1" }

// CreationAbandoned is written into the stream of a link that claimed its long URL or had room and
// never came, by whoever wants that long URL or room now: the link's creation then fails if it is
// still on its way, and there will never be a link with this id. In the stream of a deleted link it
// does the same to the link's restoration.
type CreationAbandoned struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (CreationAbandoned) EventType() string { return "url.creation_abandoned.v1" }
