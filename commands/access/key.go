package access

// What is made of a new API key: a secret for its holder, and an id and a hash for the log.

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

// NewKey is a new API key: the caller sees the secret once, the log keeps its id and hash.
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

// HashKey returns what is stored of the secret of an API key. It needs no salt and no slow hash:
// secrets are 32 random bytes, which are beyond guessing.
func HashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// noKeyHash stands for the stored hash where there is none. It is the hash of no known key.
var noKeyHash = strings.Repeat("0", hex.EncodedLen(sha256.Size))

// SameKey reports whether the hash of an API key is the stored one. It takes the same time in each
// case, also if stored is empty.
func SameKey(hash, stored string) bool {
	return subtle.ConstantTimeCompare([]byte(hash), []byte(cmp.Or(stored, noKeyHash))) == 1
}
