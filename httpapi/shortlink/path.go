// Package shortlink defines the URLs of short links: their paths, and the scheme and host before
// them.
package shortlink

import (
	"slices"
	"strings"

	"linkledger/commands/hashes"
)

// ReservedHashes returns the hashes that no short link may have, because paths that begin with them
// are or will be served at the root. Names with a dot are not listed: they are not valid hashes.
func ReservedHashes() []string { return reservedHashes }

var reservedHashes = []string{"v3", "console"}

// IsPath reports whether a path is that of a short link in canonical spelling, which nearly all
// requests have.
func IsPath(path string) bool {
	hash, rooted := strings.CutPrefix(path, "/")
	return rooted && hashes.Valid(hash) && !slices.Contains(reservedHashes, hash)
}

// The QR images of a short link.
const (
	QRPath  = "/qr.png" // below the short link
	QRSmall = "small"
	QRBig   = "big"
)
