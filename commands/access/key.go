package access

// This file makes API keys. The holder gets the secret, and the log gets an id and a hash.

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/google/uuid"
)

// NewKey is a new API key. The caller sees the secret once. The log keeps only the id and the hash.
type NewKey struct {
	ID, Secret, Hash string
}

// MakeKey returns a key whose id derives from a command, so that a repeated command finds its key.
// The secret is random.
func MakeKey(command uuid.UUID) NewKey {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret := "lk_" + base64.RawURLEncoding.EncodeToString(random)
	id := uuid.NewSHA1(command, []byte("key"))
	return NewKey{ID: hex.EncodeToString(id[:6]), Secret: secret, Hash: HashKey(secret)}
}

// HashKey returns the hash of the secret of an API key, which is stored instead of the secret. The
// hash has no salt and is not slow, because a secret is 32 random bytes, which nobody can guess.
func HashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// noKeyHash takes the place of a missing stored hash. No known key has this hash.
var noKeyHash = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// SameKey reports whether the hash of an API key equals the stored hash. It takes the same time for
// each result, even if stored is empty.
func SameKey(hash, stored string) bool {
	return subtle.ConstantTimeCompare([]byte(hash), []byte(cmp.Or(stored, noKeyHash))) == 1
}
