// Package archive writes the log to a file for auditors, and checks such files without the log.
//
// It lies below commands because it reads the log through the same store, and no read model.
//
// A file is lines of text: a header, which says what was asked for and where the log ended, the
// events in the order of the log, and a manifest. In the format csv, header and manifest begin with
// "# ", and the names of the columns follow the header. The stored bytes of an event are written as
// they are where they are JSON of one line, otherwise in base64.
//
// The manifest counts the events, and has the root hash of the RFC 6962 Merkle tree whose leaves
// are the events in their order. The leaf of an event is its line in the format ndjson without the
// line end, in both formats, so both have the same root. That of the whole log is the tree of
// package proof. The same header always gives the same file, also when the export was interrupted
// and resumed.
package archive
