package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
)

// minKey is the least length of a visitor key: below, addresses could be found by trying keys.
const minKey = 16 // bytes

// pseudonyms stand for values that are never stored.
type pseudonyms struct {
	macs sync.Pool // of hash.Hash: HMAC-SHA-256 with the key, whose set-up costs more than a sum
}

// newPseudonyms returns the pseudonyms under a key.
func newPseudonyms(key []byte) *pseudonyms {
	return &pseudonyms{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// of returns what stands for values: 16 bytes in hex, that nobody can compute without the key.
func (p *pseudonyms) of(values string) string {
	mac := p.macs.Get().(hash.Hash) //nolint:forcetypeassert // the pool holds nothing else
	defer p.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(values))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
