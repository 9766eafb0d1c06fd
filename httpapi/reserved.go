package httpapi

// ReservedHashes returns the first segments of paths that are or will be served at the root, so that no short link may
// have them for a hash. Names with a dot are no hashes anyway.
func ReservedHashes() []string { return reservedHashes }

var reservedHashes = []string{"v3", "console"}
