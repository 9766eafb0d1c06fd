package commandstest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
)

// SealingKeys stores the keys of accounts and users in memory.
type SealingKeys struct {
	Fail error // returned by the next erasure

	mu sync.Mutex
	of map[string][]byte // by owner; nil: erased
}

// NewSealingKeys returns SealingKeys without a key.
func NewSealingKeys() *SealingKeys { return &SealingKeys{of: make(map[string][]byte)} }

// Lose forgets the keys of all owners, as a lost database does.
func (k *SealingKeys) Lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.of)
}

// AccountKey implements streams.SealingKeys.
func (k *SealingKeys) AccountKey(_ context.Context, owner string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.of[owner]
	if !ok {
		return nil, errors.New("lost")
	}
	return key, nil
}

// MakeAccountKey implements streams.SealingKeys.
func (k *SealingKeys) MakeAccountKey(ctx context.Context, owner string) ([]byte, error) {
	k.mu.Lock()
	if _, ok := k.of[owner]; !ok {
		k.of[owner] = make([]byte, 32)
		_, _ = rand.Read(k.of[owner])
	}
	k.mu.Unlock()
	return k.AccountKey(ctx, owner)
}

// IsLost implements streams.SealingKeys. No key is known to be lost.
func (k *SealingKeys) IsLost(context.Context, string, uint64, bool) (bool, error) {
	return false, nil
}

// EraseAccountKey implements streams.SealingKeys.
func (k *SealingKeys) EraseAccountKey(_ context.Context, owner string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.Fail; err != nil {
		k.Fail = nil
		return err
	}
	k.of[owner] = nil
	return nil
}
