package events

// Event is a fact, as one struct of this package. Its type is the literal string that is stored
// beside the body.
type Event interface {
	EventType() string
}

// Metadata is stored beside every event: who caused it, and by which request. The names with a
// dollar sign are EventStoreDB's own, so that its tools follow a chain of causes too.
type Metadata struct {
	CorrelationID string `json:"$correlationId,omitempty"` // the request that started it all
	// the event or request that led to this event
	CausationID string `json:"$causationId,omitempty"`
	Account     string `json:"account,omitempty"` // id of the acting account; empty for an operator
	Key         string `json:"key,omitempty"`     // id of the API key that was used, never the key
	// keyed hash of the caller's address, never the address
	Address   string `json:"address,omitempty"`
	RequestID string `json:"request,omitempty"`
	BatchID   string `json:"batch,omitempty"` // shared by all events of one API call
	// W3C trace context of the append; empty: it was not traced
	TraceParent string `json:"traceparent,omitempty"`
}
