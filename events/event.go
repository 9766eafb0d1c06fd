package events

import "time"

// Event is one struct of this package. EventType returns the literal string that is stored beside
// the body.
type Event interface {
	EventType() string
}

// The values of Metadata.Via.
const (
	ViaAPI     = "api"
	ViaCLI     = "cli" // the command line of an operator
	ViaConsole = "console"
	ViaWebhook = "webhook" // a delivery that has failed for long
)

// Metadata is stored beside every event. It names the account and the request that caused the
// event. EventStoreDB defines the JSON names with a dollar sign. Its tools use them to follow
// chains of causes.
type Metadata struct {
	CorrelationID string `json:"$correlationId,omitempty"` // id of the first request of the chain
	// CausationID is the id of the event or request that directly caused this event.
	CausationID string `json:"$causationId,omitempty"`
	Account     string `json:"account,omitempty"` // id of the acting account; empty for an operator
	Key         string `json:"key,omitempty"`     // id of the API key that was used, never the key
	User        string `json:"user,omitempty"`    // id of the person who acted; empty: a key did
	// Via is the interface that the change came through: ViaAPI, ViaCLI or ViaConsole. An empty Via
	// means ViaCLI if Account is empty, and otherwise ViaAPI.
	Via string `json:"via,omitempty"`
	// Address is a keyed hash of the caller's address, never the address.
	Address   string `json:"address,omitempty"`
	RequestID string `json:"request,omitempty"`
	BatchID   string `json:"batch,omitempty"` // shared by all events of one API call
	// Undoes is the id of the batch that this call undoes, or empty.
	Undoes string `json:"undoes,omitempty"`
	// UndoesKey is the id of an API key, or empty. This call undoes the changes that were made with
	// the key since UndoesSince.
	UndoesKey   string    `json:"undoes_key,omitempty"`
	UndoesSince time.Time `json:"undoes_since,omitzero"`
	// TraceParent is the W3C trace context of the append, or empty if it was not traced.
	TraceParent string `json:"traceparent,omitempty"`
}

// Way returns Via, or the value that an empty Via stands for.
func (m Metadata) Way() string {
	switch {
	case m.Via != "":
		return m.Via
	case m.Account == "":
		return ViaCLI
	}
	return ViaAPI
}
