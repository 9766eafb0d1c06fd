package keyfile

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// MasterKeySize is the size of a master key, in bytes.
const MasterKeySize = 32

var (
	// ErrNoMasterKey means that notes are sealed with keys of accounts, and that this process
	// has no master key.
	ErrNoMasterKey = errors.New("notes are encrypted here: give the master key")
	// ErrOtherMasterKey means that keys of accounts are wrapped by a master key that this process
	// does not have.
	ErrOtherMasterKey = errors.New(
		"the keys of accounts are wrapped by another master key: give that one",
	)
	// ErrKeyLost means that an account has notes, but neither a key nor an erasure: the table
	// account_keys does not belong to the log.
	ErrKeyLost = errors.New("the key of an account is missing: restore the schema " +
		"linkledger_durable from a backup, " +
		"or erase the account if the key is lost for good")
)

// MasterKey wraps the keys of accounts with AES-256-GCM. It is not stored in the database, so a
// copy of the database is not enough to read the notes in the log.
type MasterKey struct {
	name string // identifies the key without revealing it
	aead cipher.AEAD
	// former is the previous master key. It only unwraps the keys that it has wrapped. nil: none.
	former *MasterKey
}

// NewMasterKey returns a master key. former is the previous one, or nil: see Keys.CheckMaster.
func NewMasterKey(key []byte, former *MasterKey) (*MasterKey, error) {
	if len(key) != MasterKeySize {
		return nil, fmt.Errorf("a master key has %d bytes, not %d", MasterKeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("linkledger master key\n"), key...))
	return &MasterKey{name: hex.EncodeToString(sum[:8]), aead: aead, former: former}, nil
}

// Wrap encrypts a key or another text for a label, such as the id of an account.
func (m *MasterKey) Wrap(label string, key []byte) []byte {
	return m.aead.Seal(nil, nil, key, []byte(label)) //nolint:gosec // it draws the nonce itself
}

// Unwrap returns the key of an account from a row of account_keys. It fails with ErrNoMasterKey if
// m is nil, and with ErrOtherMasterKey if neither m nor its former key has the name master.
func (m *MasterKey) Unwrap(account, master string, wrapped []byte) ([]byte, error) {
	key, err := m.open(account, master, wrapped)
	if errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf(
			"the key of account %s is damaged, restore the schema linkledger_durable from a "+
				"backup: %w", account, err,
		)
	}
	return key, err
}

// ErrDamaged means that a sealed text cannot be opened for its label although the master key that
// it names is there, or that the text does not have the right form.
var ErrDamaged = errors.New("it is damaged")

// open returns the text that Wrap has wrapped for a label.
func (m *MasterKey) open(purpose, master string, wrapped []byte) ([]byte, error) {
	if m == nil {
		return nil, ErrNoMasterKey
	}
	by := m
	for ; by != nil && by.name != master; by = by.former {
	}
	if by == nil {
		return nil, ErrOtherMasterKey
	}
	text, err := by.aead.Open(nil, nil, wrapped, []byte(purpose))
	if err != nil {
		return nil, ErrDamaged
	}
	return text, nil
}

// Name identifies the key without revealing it.
func (m *MasterKey) Name() string { return m.name }

// Former returns the previous master key, whose wrapped keys this one takes over, or nil.
func (m *MasterKey) Former() *MasterKey { return m.former }
