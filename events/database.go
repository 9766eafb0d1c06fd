package events

import "time"

// StreamDatabase prefixes the stream that records which PostgreSQL database serves:
// database-serving.
const StreamDatabase = "database-"

// DatabaseAdopted records that from now on one PostgreSQL database serves, and no other one.
// System, Database and Timeline identify the database. The timeline grows with each promotion of a
// standby. The token distinguishes the database from older copies of it.
type DatabaseAdopted struct {
	System   string    `json:"system"`            // system identifier of the cluster
	Database uint32    `json:"database"`          // oid of the database
	Timeline uint32    `json:"timeline"`          // of the cluster
	Token    string    `json:"token"`             // UUID, also stored in the database
	Address  string    `json:"address,omitempty"` // at which a node reached it; informs only
	At       time.Time `json:"at"`
}

// EventType implements Event.
func (DatabaseAdopted) EventType() string { return "database.adopted.v1" }
