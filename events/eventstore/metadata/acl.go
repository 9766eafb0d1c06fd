package metadata

import (
	"encoding/json"
	"fmt"
	"slices"
)

const (
	// AllStreams is the name of the log of all streams, under which EventStoreDB stores its access
	// rights.
	AllStreams = "$all"
	// adminsRole is the role that may read the log of all streams by default.
	adminsRole = "$admins"
	aclField   = "$acl"
	readField  = "$r"
)

// LogReaders are the users and roles that may read the log of all streams, before and after a
// change.
type LogReaders struct {
	Before, After []string
}

// WithReader returns the stored metadata of AllStreams, with reader added to the users and roles
// that may read it. stored is empty if there is no metadata yet.
func WithReader(stored []byte, reader string) (metadata []byte, readers LogReaders, err error) {
	fields, acl := make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	if len(stored) > 0 {
		err = json.Unmarshal(stored, &fields)
	}
	if set, ok := fields[aclField]; ok && err == nil {
		err = json.Unmarshal(set, &acl)
	}
	if err != nil {
		return nil, LogReaders{}, fmt.Errorf(
			"the metadata of %s is not what EventStoreDB writes, repair it first: %w", AllStreams,
			err,
		)
	}
	readers.Before = []string{adminsRole}
	if set, ok := acl[readField]; ok {
		if readers.Before, err = roles(set); err != nil {
			return nil, LogReaders{}, err
		}
	}
	readers.After = readers.Before
	if !slices.Contains(readers.Before, reader) {
		readers.After = append(slices.Clone(readers.Before), reader)
	}
	if acl[readField], err = json.Marshal(readers.After); err != nil {
		return nil, LogReaders{}, err
	}
	if fields[aclField], err = json.Marshal(acl); err != nil {
		return nil, LogReaders{}, err
	}
	metadata, err = json.Marshal(fields)
	return metadata, readers, err
}

// roles decodes the holders of a right, which are one name or a list of names.
func roles(set json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(set, &one) == nil {
		return []string{one}, nil
	}
	var several []string
	if err := json.Unmarshal(set, &several); err != nil {
		return nil, fmt.Errorf(
			"the readers of %s are not what EventStoreDB writes, repair them first: %w", AllStreams,
			err,
		)
	}
	return several, nil
}
