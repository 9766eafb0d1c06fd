package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// MinKey is the least length of a visitor key: below, addresses could be found by trying keys.
const MinKey = 16 // bytes

// Pseudonyms stand for values that are never stored.
type Pseudonyms struct {
	macs sync.Pool // of hash.Hash: HMAC-SHA-256 with the key, whose set-up costs more than a sum
}

// NewPseudonyms returns the pseudonyms under a key.
func NewPseudonyms(key []byte) *Pseudonyms {
	return &Pseudonyms{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// Of returns what stands for values: 16 bytes in hex, that nobody can compute without the key.
func (p *Pseudonyms) Of(values string) string {
	mac := p.macs.Get().(hash.Hash) //nolint:forcetypeassert // the pool holds nothing else
	defer p.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(values))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
