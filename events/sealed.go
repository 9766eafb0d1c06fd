package events

// This file defines sealed personal data, and the texts that replace it. Package sealing seals and
// opens the data.

// Erased replaces the personal data of an erased account or person.
const Erased = "erased"

// LostKey replaces personal data whose key is lost.
const LostKey = "cannot be read, its key is lost"

// Sealed is personal data of an event, encrypted by AES-256-GCM: the note of a link or the target
// of a webhook with the key of the account, or the details of a person with the key of the person.
// The encryption also authenticates the owner of the key, the stream and the purpose, so the data
// cannot be opened as part of another stream. Without the key the data is unreadable.
type Sealed struct {
	Account string `json:"account"` // id of the account or the user that has the key
	Box     []byte `json:"box"`     // nonce of 12 bytes, text, tag of 16 bytes

	Erased bool `json:"-"` // the key was deleted, see sealing.Open
}
