package commands

import (
	"crypto/rand"
	"strings"
	"time"

	"linkledger/commands/domain"
	"linkledger/events"
)

const (
	// claimTimeout is how long a claimed hash waits for its link before somebody else may take it over.
	claimTimeout = time.Minute
	// generatedLength gives 31^7 (27 billion) generated hashes.
	generatedLength = 7
	// hashAlphabet leaves out characters that look alike: 0 o, 1 l i.
	hashAlphabet = "23456789abcdefghjkmnpqrstuvwxyz"
)

// maxHash is the longest hash, in bytes.
const maxHash = 25

// ValidHash tells whether a string can be a hash at all: 1 to 25 of the characters A-Z a-z 0-9 _ -.
func ValidHash(hash string) bool {
	for i := range len(hash) {
		switch c := hash[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return 0 < len(hash) && len(hash) <= maxHash
}

// generateHash draws a hash from crypto/rand, without bias.
func generateHash() string {
	const unbiased = 256 - 256%len(hashAlphabet)
	var hash strings.Builder
	random := make([]byte, 2*generatedLength)
	for hash.Len() < generatedLength {
		_, _ = rand.Read(random) // never fails
		for _, b := range random {
			if int(b) < unbiased && hash.Len() < generatedLength {
				hash.WriteByte(hashAlphabet[int(b)%len(hashAlphabet)])
			}
		}
	}
	return hash.String()
}

// hashClaim is the state of one hash, folded from its stream.
type hashClaim struct {
	hash     string
	owner    string // the account whose links have lived under the hash and left it; empty: none has
	urlID    string // of the last claim
	account  string
	at       time.Time
	claimed  events.Revision // of the last claim
	released bool
	revision events.Revision // of the stream
}

func foldHash(hash string, history []events.Event) hashClaim {
	c := hashClaim{hash: hash, claimed: events.NoStream, revision: events.NoStream}
	for _, e := range history {
		c.revision++
		switch e := e.(type) {
		case events.HashClaimed:
			c.urlID, c.account, c.at, c.claimed, c.released = e.URLID, e.Account, e.At, c.revision, false
		case events.HashReleased:
			c.released, c.owner = true, e.Account
		}
	}
	return c
}

// holder says what the link that made a claim makes of it.
type holder int

const (
	holderUses     holder = iota // the link lives under this hash
	holderLeft                   // the link was deleted or renamed; only the release is missing
	holderNotYet                 // the link may still be on its way
	holderVanished               // the link never came: the claim must be abandoned, then anybody may have the hash
	holderGaveUp                 // as holderVanished, and abandoned already
)

// holderOf decides what the link in its state makes of its last claim of this hash.
func (c hashClaim) holderOf(url domain.Link, now time.Time) holder {
	spent, isSpent := url.Spent[c.hash]
	switch {
	case isSpent && spent.Revision >= c.claimed && spent.Abandoned:
		return holderGaveUp
	case isSpent && spent.Revision >= c.claimed:
		return holderLeft
	case url.Live() && url.Hash == c.hash:
		return holderUses
	case now.Sub(c.at) < claimTimeout:
		return holderNotYet
	default:
		return holderVanished
	}
}

var errHashTaken = &domain.Error{Kind: domain.HashUnavailable, Details: "That custom hash is already in use"}

// hadHash tells whether a link has lived under a hash.
func hadHash(u domain.Link, hash string) bool {
	spent, left := u.Spent[hash]
	return u.ID != "" && (u.Hash == hash || left && !spent.Abandoned)
}
