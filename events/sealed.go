package events

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Erased replaces the personal data of an erased account or person.
const Erased = "erased"

// LostKey replaces personal data whose key is lost.
const LostKey = "cannot be read, its key is lost"

// ErrUnreadable means that sealed data is not what the key of its owner has sealed for its stream.
var ErrUnreadable = errors.New("sealed data cannot be opened")

// Sealed is personal data of an event, encrypted by AES-256-GCM: the note of a link with the key of
// its account, or the details of a person with the key of the person. The owner of the key, the
// stream and the purpose are authenticated with it, so it cannot be opened as part of another
// stream. Without the key it is unreadable.
type Sealed struct {
	Account string `json:"account"` // id of the account or the user that has the key
	Box     []byte `json:"box"`     // nonce of 12 bytes, text, tag of 16 bytes

	Erased bool `json:"-"` // the key was deleted, see Open
}

// SealingKey is the key of an account or a user. It is safe for concurrent use.
type SealingKey struct{ aead cipher.AEAD }

// NewSealingKey returns a key made of 32 secret bytes. They MUST NOT be used for another owner.
func NewSealingKey(secret []byte) (*SealingKey, error) {
	if len(secret) != 32 {
		return nil, fmt.Errorf("the key of an account has 32 bytes, not %d", len(secret))
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block) // safe for 2^32 texts
	if err != nil {
		return nil, err
	}
	return &SealingKey{aead}, nil
}

// The purposes of sealed texts.
const (
	sealedNote    = "note"
	sealedDetails = "details"
)

func (k *SealingKey) seal(purpose, text, owner, stream string) *Sealed {
	//nolint:gosec // the AEAD generates the nonce itself
	box := k.aead.Seal(nil, nil, []byte(text), boundTo(purpose, owner, stream))
	return &Sealed{Account: owner, Box: box}
}

func (k *SealingKey) open(purpose string, sealed *Sealed, stream string) (string, error) {
	text, err := k.aead.Open(nil, nil, sealed.Box, boundTo(purpose, sealed.Account, stream))
	if err != nil {
		return "", fmt.Errorf(
			"%w: the %s in stream %s was not sealed there by the key of %s: %w", ErrUnreadable,
			purpose, stream, sealed.Account, err,
		)
	}
	return strings.ReplaceAll(string(text), "\x00", string(utf8.RuneError)), nil
}

func boundTo(purpose, owner, stream string) []byte {
	return []byte(purpose + "\n" + owner + "\n" + stream)
}

// KeyOwner returns the id of the owner of the key that seals an event of an account: the account,
// or for the details of a person the user.
func KeyOwner(e Event, account string) string {
	if known, ok := e.(UserKnown); ok {
		return known.User
	}
	return account
}

// Seal returns the event with its personal data sealed by the key of an owner, for storage in
// stream. An event without personal data, or with an empty note, is returned unchanged. Seal
// refuses what Encode refuses, because sealed texts cannot be checked later.
func Seal(e Event, key *SealingKey, owner, stream string) (Event, error) {
	var err error
	switch e := e.(type) {
	case URLCreated:
		if e.Note != "" {
			e.SealedNote, err = key.sealNote(e, e.Note, owner, stream)
			e.Note = ""
		}
		return e, err
	case URLSettingsChanged:
		if e.Note != nil && *e.Note != "" {
			e.SealedNote, err = key.sealNote(e, *e.Note, owner, stream)
			e.Note = nil
		}
		return e, err
	case UserKnown:
		var text []byte
		text, err = encode(e.EventType(), e.Details)
		e.Sealed, e.Details = key.seal(sealedDetails, string(text), owner, stream), Details{}
		return e, err
	}
	return e, nil
}

func (k *SealingKey) sealNote(e Event, note, owner, stream string) (*Sealed, error) {
	if !IsText(note) {
		return nil, &TextError{EventType: e.EventType(), Field: sealedNote}
	}
	return k.seal(sealedNote, note, owner, stream), nil
}

// HasPersonal reports whether an event has personal data: a non-empty note, or details of a person.
func HasPersonal(e Event) bool {
	switch e := e.(type) {
	case URLCreated:
		return e.Note != "" || e.SealedNote != nil
	case URLSettingsChanged:
		return e.Note != nil && *e.Note != "" || e.SealedNote != nil
	case UserKnown:
		return true
	}
	return false
}

// SealedOf returns the sealed data of an event, or nil if it has none.
func SealedOf(e Event) *Sealed {
	switch e := e.(type) {
	case URLCreated:
		return e.SealedNote
	case URLSettingsChanged:
		return e.SealedNote
	case UserKnown:
		return e.Sealed
	}
	return nil
}

// Open returns an event of a stream with its personal data opened, beside the sealed data. The key
// MUST be that of the owner of the sealed data. If key is nil because it was deleted, the data is
// Erased and the sealed data is marked as erased. Open fails if the data was not sealed for this
// stream with this key.
func Open(e Event, key *SealingKey, stream string) (Event, error) {
	sealed := SealedOf(e)
	if sealed == nil {
		return e, nil
	}
	if key == nil {
		return Erase(e), nil
	}
	purpose := sealedNote
	if _, ok := e.(UserKnown); ok {
		purpose = sealedDetails
	}
	text, err := key.open(purpose, sealed, stream)
	if err != nil {
		return nil, err
	}
	return withPersonal(e, text, sealed)
}

// Erase returns an event with Erased in place of its personal data, whether the data is sealed or
// not.
func Erase(e Event) Event {
	if !HasPersonal(e) {
		return e
	}
	erased := Sealed{Erased: true}
	if sealed := SealedOf(e); sealed != nil {
		erased.Account, erased.Box = sealed.Account, sealed.Box
	}
	if known, ok := e.(UserKnown); ok {
		known.Details, known.Sealed = Details{Name: Erased}, &erased
		return known
	}
	event, _ := withPersonal(e, Erased, &erased) // a note can be any text
	return event
}

// Lose returns an event with LostKey in place of its sealed personal data.
func Lose(e Event) Event {
	sealed := SealedOf(e)
	if known, ok := e.(UserKnown); ok {
		known.Details = Details{Name: LostKey}
		return known
	}
	event, _ := withPersonal(e, LostKey, sealed) // a note can be any text
	return event
}

func withPersonal(e Event, text string, sealed *Sealed) (Event, error) {
	switch e := e.(type) {
	case URLCreated:
		e.Note, e.SealedNote = text, sealed
		return e, nil
	case URLSettingsChanged:
		e.Note, e.SealedNote = &text, sealed
		return e, nil
	case UserKnown:
		e.Sealed = sealed
		if err := json.Unmarshal([]byte(text), &e.Details); err != nil {
			return nil, fmt.Errorf("%w: details of a person: %w", ErrUnreadable, err)
		}
		return e, nil
	}
	return e, nil
}

// OpenDetails opens sealed details of a user apart from their event. If key is nil because it was
// deleted, the name is Erased.
func OpenDetails(sealed *Sealed, key *SealingKey, user string) (Details, error) {
	opened, err := Open(UserKnown{User: user, Sealed: sealed}, key, StreamUser+user)
	if err != nil {
		return Details{}, err
	}
	return opened.(UserKnown).Details, nil //nolint:forcetypeassert // Open keeps the type
}
