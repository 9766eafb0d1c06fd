package audit

import (
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
)

// FieldChange is one field of a link's record that an event changed.
type FieldChange struct {
	// Field is the name of the field in the record: hash, long_url, note, email_stats, ping,
	// protected, archived, expiration_date, max_clicks, tags, or deleted. For a claim or release of
	// a hash, it is claimed_by, whose value is the id of a link.
	Field string `json:"field"`
	// Before and After are a string, a bool, an int64 or a []string. nil means no value: the link
	// did not exist yet, the link has no expiration date, or no link claims the hash.
	Before any `json:"before"`
	After  any `json:"after"`
	// Erased is true for a note that was erased with its account. Before and After then hold a
	// placeholder.
	Erased bool `json:"erased,omitempty"`
}

// linkRecord is a link's record at one time, without its tags.
type linkRecord struct {
	exists   bool
	hash     string
	longURL  string
	note     domain.Note
	settings events.Settings
	deleted  bool
}

func recordOf(u domain.Link) linkRecord {
	return linkRecord{
		exists: u.ID != "", hash: u.Hash, longURL: u.LongURL, note: u.NoteValue(),
		settings: u.Settings, deleted: u.Deleted,
	}
}

// changes returns the differences between two records of a link; addTags adds the differences of
// its tags. For a new link it returns the fields that differ from their defaults.
func (before linkRecord) changes(after linkRecord, addTags func(*difference)) []FieldChange {
	d := difference{created: !before.exists}
	compare(&d, "hash", before.hash, after.hash)
	compare(&d, "long_url", before.longURL, after.longURL)
	if before.note != after.note {
		d.add("note", before.note.Text, after.note.Text)
		d.changes[len(d.changes)-1].Erased = before.note.Erased != nil || after.note.Erased != nil
	}
	for _, s := range events.AllSettings {
		compare(&d, s.Name, Value(s.Get(&before.settings)), Value(s.Get(&after.settings)))
	}
	addTags(&d)
	compare(&d, "deleted", before.deleted, after.deleted)
	return d.changes
}

// difference collects the changes between two records.
type difference struct {
	created bool
	changes []FieldChange
}

func (d *difference) add(field string, before, after any) {
	if d.created {
		before = nil
	}
	d.changes = append(d.changes, FieldChange{Field: field, Before: before, After: after})
}

func compare[T comparable](d *difference, field string, before, after T) {
	if before != after {
		d.add(field, before, after)
	}
}

// Value returns the value of a setting as a FieldChange has it: nil for an empty text.
func Value(setting any) any {
	if setting == "" {
		return nil
	}
	return setting
}

// Tenure is a period in which a link had a hash.
type Tenure struct {
	Hash  string    `json:"hash"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: the link still has the hash
}
