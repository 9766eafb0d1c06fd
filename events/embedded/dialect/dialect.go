// Package dialect has the errors that the store returns for malformed requests. A store can return
// the errors of another server instead.
package dialect

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is a kind of malformed request to which EventStoreDB responds differently than this store.
type Fault int

// The faults.
const (
	FaultException Fault = iota // the handler of EventStoreDB throws an exception
	FaultRevision               // the stream cannot be read from the revision
	FaultPosition               // no event begins at the position
	FaultCount                  // a read of the log has count 0
	FaultWindow                 // a filter has window 0
	FaultIDs                    // the request names no form of ids
)

// RequestError is returned for a malformed request. The store's own response is INVALID_ARGUMENT.
type RequestError struct {
	Fault   Fault
	message string
}

func (f *RequestError) Error() string { return f.message }

// GRPCStatus returns the store's own response. Package status calls it.
func (f *RequestError) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, f.message)
}

// Invalid returns an INVALID_ARGUMENT error for a request that EventStoreDB refuses in the same
// way.
func Invalid(message string) error { return status.Error(codes.InvalidArgument, message) }

// Refuse returns the error of a request with a fault.
func Refuse(f Fault, message string) error { return &RequestError{f, message} }

// Malformed returns the error of a request for which the handlers of EventStoreDB throw an
// exception.
func Malformed(message string) error { return Refuse(FaultException, message) }

// Dialect defines how another server responds to malformed requests. EventStoreDB often responds to
// them with UNKNOWN, or never. A nil Dialect stands for the store's own response, which is
// INVALID_ARGUMENT.
type Dialect interface {
	// Response returns the response to a request with a fault. subscription reports whether the
	// request is a subscription.
	Response(f Fault, subscription bool) Response
	// HidesCaughtUp reports whether the server sends no CaughtUp to a subscription to a stream
	// without events.
	HidesCaughtUp() bool
}

// Response is the response of another server to a request with a fault.
type Response struct {
	Confirmed bool       // the server confirms the subscription first
	Code      codes.Code // OK means that the server never responds
	Message   string
}
