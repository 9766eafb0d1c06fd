// Package metadata reads and writes the JSON that EventStoreDB keeps in the metadata of a stream.
// The metadata can hide events of the stream, and says who may read the stream. The package MUST
// NOT import other packages of Linkledger.
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

// metadataPrefix begins the name of a stream that has the metadata of another stream.
const metadataPrefix = "$$"

// StreamOf returns the name of the stream that has the metadata of stream.
func StreamOf(stream string) string { return metadataPrefix + stream }

// Of is the inverse of StreamOf. It returns false if stream does not have the metadata of another
// stream.
func Of(stream string) (string, bool) { return strings.CutPrefix(stream, metadataPrefix) }

// hidingKeys are the metadata keys that make the event store hide events from readers.
var hidingKeys = []string{"$tb", "$maxCount", "$maxAge", "$acl"}

// HiddenBy returns human-readable descriptions of the entries in the metadata of a stream that hide
// its events, or nil if there are none. Metadata that is not a JSON object counts as hiding,
// because event stores differ in how they treat it.
func HiddenBy(metadata []byte) []string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(metadata, &fields); err != nil || fields == nil {
		return []string{"metadata that cannot be read"}
	}
	var hidden []string
	for _, key := range hidingKeys {
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
