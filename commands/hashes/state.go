// Package hashes decides which link has a hash. A link claims its hash in the hash's own stream
// before the link is created, renamed or restored. If a link is created in the hash's stream, the
// creation is the claim. If two links want the same hash, exactly one gets it.
package hashes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
)

const (
	// ClaimTimeout is how long a claimed hash waits for its link before another link may take it
	// over.
	ClaimTimeout = time.Minute
	// generatedLength gives 31^7 (27 billion) generated hashes.
	generatedLength = 7
	// hashAlphabet leaves out characters that look alike: 0 o, 1 l i.
	hashAlphabet = "23456789abcdefghjkmnpqrstuvwxyz"
)

// maxHash is the longest hash, in bytes.
const maxHash = 25

// Valid reports whether a string has the form of a hash: 1 to 25 of the characters A-Z a-z 0-9 _ -.
func Valid(hash string) bool {
	for i := range len(hash) {
		switch c := hash[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return 0 < len(hash) && len(hash) <= maxHash
}

// Generate returns a hash drawn from crypto/rand. It is not reserved.
func Generate() string {
	var random [8]byte
	for {
		_, _ = rand.Read(random[:]) // never fails
		if hash := generated(random[:]); !Reserved(hash) {
			return hash
		}
	}
}

// GenerateFor returns the hash of an attempt of a command. A repeat of the command gets the same
// hash. The hash is not reserved.
func GenerateFor(command uuid.UUID, attempt byte) string {
	sum := sha256.Sum256(append(command[:], 'h', attempt))
	for Reserved(generated(sum[:8])) {
		sum = sha256.Sum256(sum[:])
	}
	return generated(sum[:8])
}

// generated makes a hash from 8 random bytes. All hashes are equally likely, up to a difference of
// one in 600 million.
func generated(random []byte) string {
	number := binary.BigEndian.Uint64(random)
	var hash [generatedLength]byte
	for i := range hash {
		hash[i] = hashAlphabet[number%uint64(len(hashAlphabet))]
		number /= uint64(len(hashAlphabet))
	}
	return string(hash[:])
}

// State is the state of one hash, folded from its stream.
type State struct {
	hash     string
	owner    string // account whose links have lived under the hash and left it; empty: none
	URLID    string // of the last claim
	Account  string
	At       time.Time
	claimed  events.Revision // of the last claim
	released bool
	revision events.Revision // of the stream
}

// Fold returns the state of a hash from the events of its stream.
func Fold(hash string, history []events.Event) State {
	c := State{hash: hash, claimed: events.NoStream, revision: events.NoStream}
	for _, e := range history {
		c.revision++
		if claim, ok := ClaimOf(e); ok {
			c.URLID, c.Account, c.At = claim.URLID, claim.Account, claim.At
			c.claimed, c.released = c.revision, false
		}
		if e, ok := e.(events.HashReleased); ok {
			c.released, c.owner = true, e.Account
		}
	}
	return c
}

// ClaimOf returns the claim that an event in the stream of a hash makes, if it makes one.
func ClaimOf(e events.Event) (events.HashClaimed, bool) {
	switch e := e.(type) {
	case events.HashClaimed:
		return e, true
	case events.URLCreated:
		return events.HashClaimed{
			Hash: e.Hash, URLID: e.URLID, Account: e.Account, At: e.At,
		}, e.ClaimsHash
	}
	return events.HashClaimed{}, false
}

// claimStatus is the status of a claim, as its link shows it.
type claimStatus int

const (
	claimInUse   claimStatus = iota // the link lives under this hash
	claimLeft                       // the link was deleted or renamed, and the release is missing
	claimPending                    // the link may still be appended
	// no link within ClaimTimeout: the claim may be abandoned, which frees the hash.
	claimExpired
	claimAbandoned // expired, and abandoned in the stream of its link
)

// statusFor returns the status of the last claim of this hash, given the link that made it.
func (c State) statusFor(url domain.Link, now time.Time) claimStatus {
	spent, isSpent := url.Spent[c.hash]
	switch {
	case isSpent && spent.Revision >= c.claimed && spent.Abandoned:
		return claimAbandoned
	case isSpent && spent.Revision >= c.claimed:
		return claimLeft
	case url.Live() && url.Hash == c.hash:
		return claimInUse
	case !events.IsOver(c.At, now, ClaimTimeout):
		return claimPending
	default:
		return claimExpired
	}
}

// ErrTaken refuses a hash that belongs to another link.
var ErrTaken = &domain.Error{
	Kind: domain.HashUnavailable, Details: "That custom hash is already in use",
}

// Had reports whether a link has or had a hash.
func Had(u domain.Link, hash string) bool {
	spent, left := u.Spent[hash]
	return u.ID != "" && (u.Hash == hash || left && !spent.Abandoned)
}

// Claimants returns the links that claimed a hash, each once, in the order of their first claims.
// If reader is not empty, it leaves out links of other accounts.
func Claimants(history []events.Event, reader string) []string {
	var links []string
	seen := make(map[string]bool)
	for _, e := range history {
		claimed, ok := ClaimOf(e)
		if ok && (reader == "" || claimed.Account == reader) && !seen[claimed.URLID] {
			seen[claimed.URLID] = true
			links = append(links, claimed.URLID)
		}
	}
	return links
}

// LastClaimants returns the links of Claimants in the order of their last claims.
func LastClaimants(history []events.Event, reader string) []string {
	backward := slices.Clone(history)
	slices.Reverse(backward)
	links := Claimants(backward, reader)
	slices.Reverse(links)
	return links
}
