package domain

import (
	"slices"
	"time"

	"linkledger/events"
)

// Link is the state of one link, folded from its stream. The zero value is a link that was never
// created.
type Link struct {
	ID      string
	Account string
	Hash    string
	LongURL string
	Note    string
	events.Settings
	Tags       []string
	CreatedAt  time.Time
	ModifiedAt time.Time
	Deleted    bool

	// Erased is not nil if the note was erased. Note is events.Erased then, and Erased
	// distinguishes it from other erased notes.
	Erased *events.Sealed
	claim  events.Revision       // revision of the claim of Hash
	Spent  map[string]spentClaim // by hash: the last claim that no longer counts
}

// Note is the note of a link, comparable with ==. Two different erased notes are not equal.
type Note struct {
	Text   string
	Erased *events.Sealed
}

// NoteValue returns the note in a comparable form.
func (u Link) NoteValue() Note { return Note{u.Note, u.Erased} }

// NoteErased reports whether the note was erased with its account.
func (u Link) NoteErased() bool { return u.Erased != nil }

func (u *Link) setNote(text string, sealed *events.Sealed) {
	u.Note, u.Erased = text, nil
	if sealed != nil && sealed.Erased {
		u.Erased = sealed
	}
}

// spentClaim is a claim of a hash that no longer counts: the link left the hash, or the claim was
// abandoned.
type spentClaim struct {
	Revision  events.Revision
	Abandoned bool
}

// Clone returns a copy that shares no memory with the link.
func (u Link) Clone() Link {
	u.Tags = slices.Clone(u.Tags)
	spent := u.Spent
	u.Spent = nil
	for hash, claim := range spent {
		u.markSpent(hash, claim)
	}
	return u
}

// Live reports whether the link was created and is not deleted.
func (u Link) Live() bool { return u.ID != "" && !u.Deleted }

// SpentRevision returns the revision up to which the link's claims of a hash no longer count. It
// returns events.NoStream if all of them count.
func (u Link) SpentRevision(hash string) events.Revision {
	if s, ok := u.Spent[hash]; ok {
		return s.Revision
	}
	return events.NoStream
}

// FoldLink returns the state of a link after the events of its stream.
func FoldLink(history []events.Event) Link {
	var u Link
	for _, e := range history {
		u.Apply(e)
	}
	return u
}

// Apply folds one more event.
func (u *Link) Apply(e events.Event) {
	switch e := e.(type) {
	case events.URLCreated:
		u.ID, u.Account, u.Hash, u.LongURL = e.URLID, e.Account, e.Hash, e.LongURL
		u.setNote(e.Note, e.SealedNote)
		u.Settings = e.Settings
		u.Tags = slices.Clone(e.Tags)
		u.claim = revision(e.ClaimRevision)
		u.CreatedAt, u.ModifiedAt = e.At, e.At
	case events.URLRetargeted:
		u.LongURL, u.ModifiedAt = e.LongURL, e.At
	case events.URLRenamed:
		u.markSpent(u.Hash, spentClaim{Revision: u.claim})
		u.Hash, u.claim, u.ModifiedAt = e.To, revision(e.ClaimRevision), e.At
	case events.URLSettingsChanged:
		if e.Note != nil {
			u.setNote(*e.Note, e.SealedNote)
		}
		u.Settings.Apply(e.SettingsChange)
		u.ModifiedAt = e.At
	case events.URLTagged:
		u.Tags, u.ModifiedAt = append(u.Tags, e.Tags...), e.At
	case events.URLUntagged:
		gone := SetOf(e.Tags)
		u.Tags = slices.DeleteFunc(u.Tags, func(id string) bool { return gone[id] })
		u.ModifiedAt = e.At
	case events.URLDeleted:
		u.markSpent(u.Hash, spentClaim{Revision: u.claim})
		u.Deleted, u.ModifiedAt = true, e.At
	case events.URLRestored:
		u.Hash, u.claim, u.Deleted, u.ModifiedAt = e.Hash, revision(e.ClaimRevision), false, e.At
	case events.ClaimAbandoned:
		u.markSpent(e.Hash, spentClaim{Revision: revision(e.ClaimRevision), Abandoned: true})
	}
}

func (u *Link) markSpent(hash string, s spentClaim) {
	if u.Spent == nil {
		u.Spent = make(map[string]spentClaim)
	}
	u.Spent[hash] = s
}

func revision(stored uint64) events.Revision {
	//nolint:gosec // was written from a Revision that was not negative
	return events.Revision(stored)
}

// LinkChange is an edit whose values have been checked. If it has a new hash, the link has claimed
// the hash before the change is made. Nil fields change nothing.
type LinkChange struct {
	Hash     *string
	Claim    events.Revision // revision of the claim of Hash
	LongURL  *string
	Note     *string
	Settings events.SettingsChange
	Attach   []string // tag ids
	Detach   []string // tag ids
}

// Edit returns the events of a change. Values that the link already has make no event.
func (u Link) Edit(c LinkChange, at time.Time) []events.Event {
	var changes []events.Event
	if c.Hash != nil && *c.Hash != u.Hash {
		changes = append(changes, events.URLRenamed{
			//nolint:gosec // a claim's revision is not negative
			From: u.Hash, To: *c.Hash, ClaimRevision: uint64(c.Claim), At: at,
		})
	}
	if c.LongURL != nil && *c.LongURL != u.LongURL {
		changes = append(changes, events.URLRetargeted{LongURL: *c.LongURL, At: at})
	}
	note := c.Note
	if note != nil && *note == u.Note {
		note = nil
	}
	if settings, changed := c.Settings.From(u.Settings); changed || note != nil {
		changes = append(
			changes, events.URLSettingsChanged{Note: note, SettingsChange: settings, At: at},
		)
	}
	attach, detach := u.Retagging(c)
	if len(attach) > 0 {
		changes = append(changes, events.URLTagged{Tags: attach, At: at})
	}
	if len(detach) > 0 {
		changes = append(changes, events.URLUntagged{Tags: detach, At: at})
	}
	return changes
}

// Delete returns the deletion of a live link. It refuses with URLProtected.
func (u Link) Delete(at time.Time) ([]events.Event, error) {
	if u.Protected {
		return nil, Refuse(
			URLProtected, "The URL is protected from deletion, clear its protected flag first",
		)
	}
	return []events.Event{events.URLDeleted{Account: u.Account, Hash: u.Hash, At: at}}, nil
}
