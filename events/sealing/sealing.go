// Package sealing encrypts the personal data of events under the key of an account or a person, and
// opens it again. It does not store keys. Without the key, the data is unreadable for ever.
package sealing

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"linkledger/events"
	"linkledger/events/codec"
)

// ErrUnreadable means that sealed data was not sealed with the key of its owner for its stream, or
// was altered.
var ErrUnreadable = errors.New("sealed data cannot be opened")

// Key is the key of an account or a user. It is safe for concurrent use.
type Key struct{ aead cipher.AEAD }

// NewKey returns a key made of 32 secret bytes. The bytes MUST NOT be used for another owner.
func NewKey(secret []byte) (*Key, error) {
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
	return &Key{aead}, nil
}

// The purposes of sealed texts.
const (
	sealedNote    = "note"
	sealedDetails = "details"
	sealedTarget  = "target"
)

func (k *Key) seal(purpose, text, owner, stream string) *events.Sealed {
	//nolint:gosec // the AEAD generates the nonce itself
	box := k.aead.Seal(nil, nil, []byte(text), boundTo(purpose, owner, stream))
	return &events.Sealed{Account: owner, Box: box}
}

func (k *Key) open(purpose string, sealed *events.Sealed, stream string) (string, error) {
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

// KeyOwner returns the id of the account or user whose key seals an event. This is the user for
// UserKnown, and account for all other events.
func KeyOwner(e events.Event, account string) string {
	if known, ok := e.(events.UserKnown); ok {
		return known.User
	}
	return account
}

// Seal returns the event with its personal data sealed by the key of an owner, for storage in
// stream. An event without personal data, or with an empty note, is returned unchanged. Seal
// refuses the texts that codec.Encode refuses, because sealed texts cannot be checked later.
func Seal(e events.Event, key *Key, owner, stream string) (events.Event, error) {
	var err error
	switch e := e.(type) {
	case events.URLCreated:
		if e.Note != "" {
			e.SealedNote, err = key.sealNote(e, e.Note, owner, stream)
			e.Note = ""
		}
		return e, err
	case events.URLSettingsChanged:
		if e.Note != nil && *e.Note != "" {
			e.SealedNote, err = key.sealNote(e, *e.Note, owner, stream)
			e.Note = nil
		}
		return e, err
	case events.UserKnown:
		e.Sealed, err = key.sealPart(sealedDetails, e, e.Details, owner, stream)
		e.Details = events.Details{}
		return e, err
	case events.WebhookAdded, events.WebhookChanged, events.WebhookSecretRotated:
		sealed, err := key.sealPart(sealedTarget, e, targetOf(e), owner, stream)
		return withTarget(e, events.WebhookTarget{}, sealed), err
	}
	return e, nil
}

// sealPart seals a part of an event as JSON.
func (k *Key) sealPart(
	purpose string, e events.Event, part any, owner, stream string,
) (*events.Sealed, error) {
	text, err := codec.EncodePart(e.EventType(), part)
	if err != nil {
		return nil, err
	}
	return k.seal(purpose, string(text), owner, stream), nil
}

func (k *Key) sealNote(e events.Event, note, owner, stream string) (*events.Sealed, error) {
	if !events.IsText(note) {
		return nil, &codec.TextError{EventType: e.EventType(), Field: sealedNote}
	}
	return k.seal(sealedNote, note, owner, stream), nil
}

// HasPersonal reports whether an event has personal data: a non-empty note, details of a person, or
// the target of a webhook.
func HasPersonal(e events.Event) bool {
	switch e := e.(type) {
	case events.URLCreated:
		return e.Note != "" || e.SealedNote != nil
	case events.URLSettingsChanged:
		return e.Note != nil && *e.Note != "" || e.SealedNote != nil
	case events.UserKnown, events.WebhookAdded, events.WebhookChanged, events.WebhookSecretRotated:
		return true
	}
	return false
}

// SealedOf returns the sealed data of an event, or nil if it has none.
func SealedOf(e events.Event) *events.Sealed {
	switch e := e.(type) {
	case events.URLCreated:
		return e.SealedNote
	case events.URLSettingsChanged:
		return e.SealedNote
	case events.UserKnown:
		return e.Sealed
	case events.WebhookAdded:
		return e.Sealed
	case events.WebhookChanged:
		return e.Sealed
	case events.WebhookSecretRotated:
		return e.Sealed
	}
	return nil
}

// Open returns an event of a stream with its personal data opened. The event keeps the sealed data.
// The key MUST be the key of the owner of the sealed data. A nil key means that the key was
// deleted: the personal data is then events.Erased, and the sealed data is marked as erased. Open
// fails if the data was not sealed for this stream with this key.
func Open(e events.Event, key *Key, stream string) (events.Event, error) {
	sealed := SealedOf(e)
	if sealed == nil {
		return e, nil
	}
	if key == nil {
		return Erase(e), nil
	}
	text, err := key.open(purposeOf(e), sealed, stream)
	if err != nil {
		return nil, err
	}
	return withPersonal(e, text, sealed)
}

// purposeOf returns the purpose of the sealed text of an event.
func purposeOf(e events.Event) string {
	switch e.(type) {
	case events.UserKnown:
		return sealedDetails
	case events.WebhookAdded, events.WebhookChanged, events.WebhookSecretRotated:
		return sealedTarget
	}
	return sealedNote
}

// Erase returns an event whose personal data, sealed or not, is replaced with events.Erased.
func Erase(e events.Event) events.Event {
	if !HasPersonal(e) {
		return e
	}
	erased := events.Sealed{Erased: true}
	if sealed := SealedOf(e); sealed != nil {
		erased.Account, erased.Box = sealed.Account, sealed.Box
	}
	return replaced(e, events.Erased, &erased)
}

// replaced returns an event whose personal data is a text that says why there is none.
func replaced(e events.Event, text string, sealed *events.Sealed) events.Event {
	switch e := e.(type) {
	case events.UserKnown:
		e.Details, e.Sealed = events.Details{Name: text}, sealed
		return e
	case events.WebhookAdded, events.WebhookChanged, events.WebhookSecretRotated:
		return withTarget(e, events.WebhookTarget{URL: text}, sealed)
	}
	event, _ := withPersonal(e, text, sealed) // a note can be any text
	return event
}

// Lose returns an event whose sealed personal data is replaced with events.LostKey.
func Lose(e events.Event) events.Event {
	return replaced(e, events.LostKey, SealedOf(e))
}

func withPersonal(e events.Event, text string, sealed *events.Sealed) (events.Event, error) {
	switch e := e.(type) {
	case events.URLCreated:
		e.Note, e.SealedNote = text, sealed
		return e, nil
	case events.URLSettingsChanged:
		e.Note, e.SealedNote = &text, sealed
		return e, nil
	case events.UserKnown:
		e.Sealed = sealed
		if err := json.Unmarshal([]byte(text), &e.Details); err != nil {
			return nil, fmt.Errorf("%w: details of a person: %w", ErrUnreadable, err)
		}
		return e, nil
	case events.WebhookAdded, events.WebhookChanged, events.WebhookSecretRotated:
		var target events.WebhookTarget
		if err := json.Unmarshal([]byte(text), &target); err != nil {
			return nil, fmt.Errorf("%w: target of a webhook: %w", ErrUnreadable, err)
		}
		return withTarget(e, target, sealed), nil
	}
	return e, nil
}

// targetOf returns the target in an event of a webhook.
func targetOf(e events.Event) events.WebhookTarget {
	switch e := e.(type) {
	case events.WebhookAdded:
		return e.Target
	case events.WebhookChanged:
		return e.Target
	case events.WebhookSecretRotated:
		return e.Target
	}
	return events.WebhookTarget{}
}

// withTarget returns an event of a webhook with a target.
func withTarget(
	e events.Event, target events.WebhookTarget, sealed *events.Sealed,
) events.Event {
	switch e := e.(type) {
	case events.WebhookAdded:
		e.Target, e.Sealed = target, sealed
		return e
	case events.WebhookChanged:
		e.Target, e.Sealed = target, sealed
		return e
	case events.WebhookSecretRotated:
		e.Target, e.Sealed = target, sealed
		return e
	}
	return e
}

// OpenDetails opens the sealed details of a user without their event. A nil key means that the key
// was deleted: the name is then events.Erased.
func OpenDetails(sealed *events.Sealed, key *Key, user string) (events.Details, error) {
	opened, err := Open(events.UserKnown{User: user, Sealed: sealed}, key, events.StreamUser+user)
	if err != nil {
		return events.Details{}, err
	}
	return opened.(events.UserKnown).Details, nil //nolint:forcetypeassert // Open keeps the type
}
