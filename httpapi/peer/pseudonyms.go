package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// MinKey is the least length of a visitor key. With a shorter key, trying all keys could reveal
// addresses.
const MinKey = 16 // bytes

// Pseudonyms computes keyed hashes that are stored instead of values. It is safe for concurrent
// use.
type Pseudonyms struct {
	macs sync.Pool // of hash.Hash: HMAC-SHA-256, pooled because its set-up costs more than a sum
}

// NewPseudonyms returns the pseudonyms under a key of at least MinKey bytes.
func NewPseudonyms(key []byte) *Pseudonyms {
	return &Pseudonyms{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// Of returns the pseudonym of a value: 16 bytes in hexadecimal. It cannot be computed without the
// key.
func (p *Pseudonyms) Of(value string) string {
	mac := p.macs.Get().(hash.Hash) //nolint:forcetypeassert // the pool holds nothing else
	defer p.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
