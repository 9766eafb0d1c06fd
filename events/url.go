package events

import "time"

// StreamURL prefixes the stream of one link: url-<url id>. Links with generated hashes live in
// streams of StreamHash, except links that v0.1.0 created, see LinkStream.
const StreamURL = "url-"

// URLCreated is the first event of a link.
type URLCreated struct {
	// ClaimsHash is true in version 2. Such an event is the first in the stream of the hash, and
	// claims the hash itself. In version 1, an earlier HashClaimed has claimed the hash.
	ClaimsHash bool `json:"-"`

	URLID   string `json:"url_id"`
	Account string `json:"account"`
	Hash    string `json:"hash"`
	// ClaimRevision is the revision of the claim in the stream of the hash. In version 2 it is 0.
	ClaimRevision uint64 `json:"claim_revision"`
	LongURL       string `json:"long_url"`
	Note          string `json:"note,omitempty"`
	Settings
	Tags []string  `json:"tags,omitempty"` // tag ids
	At   time.Time `json:"at"`

	SealedNote *Sealed `json:"sealed_note,omitempty"` // stored instead of Note
}

// EventType implements Event.
func (e URLCreated) EventType() string {
	if e.ClaimsHash {
		return "url.created.v2"
	}
	return "url.created.v1"
}

// URLRetargeted changes the destination of the link.
type URLRetargeted struct {
	LongURL string    `json:"long_url"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (URLRetargeted) EventType() string { return "url.retargeted.v1" }

// URLRenamed gives the link another hash, which has been claimed by HashClaimed.
type URLRenamed struct {
	From          string    `json:"from"`
	To            string    `json:"to"`
	ClaimRevision uint64    `json:"claim_revision"` // of the claim of To
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (URLRenamed) EventType() string { return "url.renamed.v1" }

// URLSettingsChanged carries the settings that changed. A nil field means that the setting did not
// change.
type URLSettingsChanged struct {
	Note *string `json:"note,omitempty"`
	SettingsChange
	At time.Time `json:"at"`

	// SealedNote is stored instead of Note, except if the note is empty.
	SealedNote *Sealed `json:"sealed_note,omitempty"`
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

// URLStatsReset resets the counters of the link: clicks before this event in the log no longer
// count. It resets neither whether the link was visited, nor the time of the last visit.
type URLStatsReset struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (URLStatsReset) EventType() string { return "url.stats_reset.v1" }

// URLDeleted ends the link. Its hash stays reserved for the account, see HashReleased.
type URLDeleted struct {
	Account string    `json:"account"`
	Hash    string    `json:"hash"`
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (URLDeleted) EventType() string { return "url.deleted.v1" }

// URLRestored undoes URLDeleted. The link keeps its settings, tags and clicks, under a hash that
// has been claimed again.
type URLRestored struct {
	Account       string    `json:"account"`
	Hash          string    `json:"hash"`
	ClaimRevision uint64    `json:"claim_revision"` // of the claim of Hash
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (URLRestored) EventType() string { return "url.restored.v1" }

// URLStatsRestored undoes the last URLStatsReset that was not undone yet. The clicks that the reset
// removed count again, in addition to the clicks since.
type URLStatsRestored struct {
	Reset uint64    `json:"reset"` // revision of the URLStatsReset in this stream
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (URLStatsRestored) EventType() string { return "url.stats_restored.v1" }

// ClaimAbandoned is appended to the stream of a link that claimed a hash and never used it, when
// another link takes over the hash. The event advances the revision of the stream. A pending append
// that would still use the claim therefore fails.
type ClaimAbandoned struct {
	Hash          string    `json:"hash"`
	ClaimRevision uint64    `json:"claim_revision"`
	At            time.Time `json:"at"`
}

// EventType implements Event.
func (ClaimAbandoned) EventType() string { return "url.claim_abandoned.v1" }

// CreationAbandoned is appended to the stream of a link that claimed its long URL or held quota but
// was not created. This happens when another link needs the long URL or the quota. The event makes
// a pending creation of the link fail, so no link will ever have this id. In the stream of a
// deleted link, the event makes a pending restoration fail.
type CreationAbandoned struct {
	At time.Time `json:"at"`
}

// EventType implements Event.
func (CreationAbandoned) EventType() string { return "url.creation_abandoned.v1" }
