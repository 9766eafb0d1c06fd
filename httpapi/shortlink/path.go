// Package shortlink knows where short links are: the paths that are theirs, and the scheme and host
// before them.
package shortlink

import (
	"slices"
	"strings"

	"linkledger/commands/hashes"
)

// ReservedHashes returns the first segments of paths that are or will be served at the root, so
// that no short link may have them for a hash. Names with a dot are no hashes anyway.
func ReservedHashes() []string { return reservedHashes }

var reservedHashes = []string{"v3", "console"}

// IsPath tells whether a path is that of a short link as nearly everybody writes it.
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
