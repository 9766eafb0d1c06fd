package events

import "time"

// StreamTags prefixes the stream of all tags of one account: tags-<account id>. Labels are unique
// because one stream holds all tags of an account.
const StreamTags = "tags-"

// TagCreated adds a label to an account's tags.
type TagCreated struct {
	TagID   string    `json:"tag_id"`
	Account string    `json:"account"`
	Label   string    `json:"label"` // as first written
	At      time.Time `json:"at"`
}

// EventType implements Event.
func (TagCreated) EventType() string { return "tag.created.v1" }

// TagRenamed gives a tag another label. Links point to the tag's id and are not touched.
type TagRenamed struct {
	TagID string    `json:"tag_id"`
	Label string    `json:"label"`
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (TagRenamed) EventType() string { return "tag.renamed.v1" }

// TagDeleted removes a tag from the account and so from all its links.
type TagDeleted struct {
	TagID string    `json:"tag_id"`
	At    time.Time `json:"at"`
}

// EventType implements Event.
func (TagDeleted) EventType() string { return "tag.deleted.v1" }
