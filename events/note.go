package events

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
)

// Erased stands where a note was whose account has been erased.
const Erased = "erased"

// SealedNote is the note of a link under the key of its account, by AES-256-GCM. The account, the
// stream that it lies in and that it is a note are bound to it: it can't be read at another place.
// Without the key nobody reads it ever.
type SealedNote struct {
	Account string `json:"account"` // whose key it is, an id
	Box     []byte `json:"box"`     // nonce of 12 bytes, note, tag of 16 bytes

	Erased bool `json:"-"` // the key is no more: see OpenNote
}

// NoteKey is the key of an account. It is safe for concurrent use.
type NoteKey struct{ aead cipher.AEAD }

// NewNoteKey returns the key that 32 bytes are, which no other account has.
func NewNoteKey(secret []byte) (*NoteKey, error) {
	if len(secret) != 32 {
		return nil, fmt.Errorf("the key of an account has 32 bytes, not %d", len(secret))
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block) // good for 2^32 notes
	if err != nil {
		return nil, err
	}
	return &NoteKey{aead}, nil
}

func (k *NoteKey) seal(note, account, stream string) *SealedNote {
	//nolint:gosec // it draws the nonce itself
	box := k.aead.Seal(nil, nil, []byte(note), boundTo(account, stream))
	return &SealedNote{Account: account, Box: box}
}

func boundTo(account, stream string) []byte { return []byte("note\n" + account + "\n" + stream) }

// SealNote returns an event whose note is under the key of an account, to be stored in a stream.
// Events without a note, or with an empty one, are returned as they are.
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

// HasNote tells whether an event gives a link a note, other than an empty one.
func HasNote(e Event) bool {
	switch e := e.(type) {
	case URLCreated:
		return e.Note != "" || e.SealedNote != nil
	case URLSettingsChanged:
		return e.Note != nil && *e.Note != "" || e.SealedNote != nil
	}
	return false
}

// SealedNoteOf returns the note of an event that lies under a key; nil: it has none.
func SealedNoteOf(e Event) *SealedNote {
	switch e := e.(type) {
	case URLCreated:
		return e.SealedNote
	case URLSettingsChanged:
		return e.SealedNote
	}
	return nil
}

// OpenNote returns an event of a stream with its note beside the sealed one, by the key of the
// sealed note's account. Where there is no key any more, nil, the note is Erased, and the sealed
// one says so. It fails where the note is not the one that was sealed for this stream.
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

// EraseNote returns an event with Erased in place of its note, whether that is sealed or not.
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
