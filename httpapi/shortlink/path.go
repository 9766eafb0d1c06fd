// Package shortlink defines the URLs of short links: their paths, and the scheme and host before
// them.
package shortlink

import (
	"strings"

	"linkledger/commands/hashes"
)

// IsPath reports whether a path is a short link in canonical spelling. Nearly all requests have
// such a path.
func IsPath(path string) bool {
	hash, rooted := strings.CutPrefix(path, "/")
	return rooted && hashes.Valid(hash) && !hashes.Served(hash)
}

// The QR images of a short link.
const (
	QRPath  = "/qr.png" // below the short link
	QRSmall = "small"
	QRBig   = "big"
)
