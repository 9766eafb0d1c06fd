// Package metadata reads and writes what EventStoreDB keeps in the metadata of a stream: what hides
// its events, and who may read it.
package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Types of the events that the event store itself writes.
const (
	TypeMetadata  = "$metadata"
	TypeTombstone = "$streamDeleted"
)

// metadataPrefix begins the name of the stream that has the metadata of another one.
const metadataPrefix = "$$"

// StreamOf is the name of the stream that has the metadata of a stream.
func StreamOf(stream string) string { return metadataPrefix + stream }

// Of returns the name of the stream whose metadata a stream has; false: it is no such stream.
func Of(stream string) (string, bool) { return strings.CutPrefix(stream, metadataPrefix) }

// hiding are the keys of metadata by which the event store hides events from readers.
var hiding = []string{"$tb", "$maxCount", "$maxAge", "$acl"}

// HiddenBy returns what the metadata of a stream hides events by, for people to read; nothing where
// it hides none. Metadata that is no JSON object counts as hiding, because event stores differ in
// what they make of it.
func HiddenBy(metadata []byte) []string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &fields); err != nil || fields == nil {
		return []string{"metadata that cannot be read"}
	}
	var hidden []string
	for _, key := range hiding {
		value, ok := fields[key]
		switch {
		case !ok:
		case len(value) > 0 && len(value) <= len("9223372036854775807") && key != "$acl":
			hidden = append(hidden, fmt.Sprintf("%s %s", key, value))
		default:
			hidden = append(hidden, key)
		}
	}
	return hidden
}
