package events

import "strings"

// Revision is the number of an event in its stream, counted from 0.
type Revision int64

// NoStream is the revision of a stream that does not exist.
const NoStream Revision = -1

// streamPrefixes are the prefixes of all streams that Linkledger writes.
var streamPrefixes = [...]string{
	StreamURL, StreamHash, StreamClicks, StreamLongURL, StreamTags, StreamAccount, StreamUsername,
	StreamQuota, StreamAllowance, StreamUsage, StreamCall, StreamUser, StreamIdentity,
	StreamDatabase, StreamWebhooks,
}

// IsStream reports whether Linkledger writes a stream of this name.
func IsStream(name string) bool {
	for _, prefix := range streamPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
