package events

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// Erased replaces the note of an erased account.
const Erased = "erased"

// SealedNote is the note of a link, encrypted by AES-256-GCM with the key of its account. The
// account, the stream and the purpose are authenticated with it, so it cannot be opened as part
// of another stream. Without the key it is unreadable.
type SealedNote struct {
	Account string `json:"account"` // id of the account that has the key
	Box     []byte `json:"box"`     // nonce of 12 bytes, note, tag of 16 bytes

	Erased bool `json:"-"` // the key was deleted, see OpenNote
}

// NoteKey is the key of an account. It is safe for concurrent use.
type NoteKey struct{ aead cipher.AEAD }

// NewNoteKey returns a key made of 32 secret bytes. They MUST NOT be used for another account.
func NewNoteKey(secret []byte) (*NoteKey, error) {
	if len(secret) != 32 {
		return nil, fmt.Errorf("the key of an account has 32 bytes, not %d", len(secret))
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block) // safe for 2^32 notes
	if err != nil {
		return nil, err
	}
	return &NoteKey{aead}, nil
}

func (k *NoteKey) seal(note, account, stream string) *SealedNote {
	//nolint:gosec // the AEAD generates the nonce itself
	box := k.aead.Seal(nil, nil, []byte(note), boundTo(account, stream))
	return &SealedNote{Account: account, Box: box}
}

func boundTo(account, stream string) []byte { return []byte("note\n" + account + "\n" + stream) }

// SealNote returns the event with its note sealed by key, for storage in stream. An event
// without a note, or with an empty one, is returned unchanged.
func SealNote(e Event, key *NoteKey, account, stream string) Event {
	switch e := e.(type) {
	case URLCreated:
		if e.Note != "" {
			e.SealedNote, e.Note = key.seal(e.Note, account, stream), ""
		}
		return e
	case URLSettingsChanged:
		if e.Note != nil && *e.Note != "" {
			e.SealedNote, e.Note = key.seal(*e.Note, account, stream), nil
		}
		return e
	}
	return e
}

// HasNote reports whether an event sets a non-empty note.
func HasNote(e Event) bool {
	switch e := e.(type) {
	case URLCreated:
		return e.Note != "" || e.SealedNote != nil
	case URLSettingsChanged:
		return e.Note != nil && *e.Note != "" || e.SealedNote != nil
	}
	return false
}

// SealedNoteOf returns the sealed note of an event, or nil if it has none.
func SealedNoteOf(e Event) *SealedNote {
	switch e := e.(type) {
	case URLCreated:
		return e.SealedNote
	case URLSettingsChanged:
		return e.SealedNote
	}
	return nil
}

// OpenNote returns an event of a stream with its note opened, beside the sealed note. The key
// MUST be that of the account of the sealed note. If key is nil because it was deleted, the note is
// Erased and the sealed note is marked as erased. OpenNote fails if the note was not sealed for
// this stream with this key.
func OpenNote(e Event, key *NoteKey, stream string) (Event, error) {
	sealed := SealedNoteOf(e)
	if sealed == nil {
		return e, nil
	}
	if key == nil {
		return EraseNote(e), nil
	}
	note, err := key.aead.Open(nil, nil, sealed.Box, boundTo(sealed.Account, stream))
	if err != nil {
		return nil, fmt.Errorf(
			"the note in stream %s was not sealed there by the key of account %s: %w", stream,
			sealed.Account, err,
		)
	}
	return withNote(e, string(note), sealed), nil
}

// EraseNote returns an event with Erased in place of its note, whether the note is sealed or not.
func EraseNote(e Event) Event {
	if !HasNote(e) {
		return e
	}
	erased := SealedNote{Erased: true}
	if sealed := SealedNoteOf(e); sealed != nil {
		erased.Account, erased.Box = sealed.Account, sealed.Box
	}
	return withNote(e, Erased, &erased)
}

func withNote(e Event, note string, sealed *SealedNote) Event {
	switch e := e.(type) {
	case URLCreated:
		e.Note, e.SealedNote = note, sealed
		return e
	case URLSettingsChanged:
		e.Note, e.SealedNote = &note, sealed
		return e
	}
	return e
}
