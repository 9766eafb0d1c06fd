package events

import "time"

// StreamDatabase prefixes the stream that says which database serves: database-serving.
const StreamDatabase = "database-"

// DatabaseAdopted says that from now on one database of PostgreSQL serves, and no other one. A
// database is named by its cluster, its number there and the timeline of the cluster, which grows
// with each promotion of a standby. Its token tells it from copies of before.
type DatabaseAdopted struct {
	System   string    `json:"system"`            // system identifier of the cluster
	Database uint32    `json:"database"`          // oid of the database
	Timeline uint32    `json:"timeline"`          // of the cluster
	Token    string    `json:"token"`             // UUID, which the database has too
	Address  string    `json:"address,omitempty"` // at which a node reached it; informs only
	At       time.Time `json:"at"`
}

// EventType implements Event.
func (DatabaseAdopted) EventType() string { return "database.adopted.v1" }
