// Package archive exports the log to a file for auditors and checks such files without the log. It
// MUST NOT import commands or read models: it reads the log through the store only.
//
// A file consists of lines of text: a header, the events in the order of the log, and a manifest.
// The header describes the selection and the end of the log. In the format csv, header and manifest
// begin with "# ", and the names of the columns follow the header. The stored bytes of an event are
// written unchanged if they are JSON on one line, otherwise in base64.
//
// The manifest has the number of events and the root hash of the RFC 6962 Merkle tree whose leaves
// are the events in their order. In both formats, the leaf of an event is its ndjson line without
// the line end, so both have the same root. If the file has the whole log, its tree is the tree of
// package proof. The same header always gives the same file, even if the export was interrupted and
// resumed.
package archive
