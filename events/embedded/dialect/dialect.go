// Package dialect refuses malformed requests, and knows what versions of
// EventStoreDB answer to them.
package dialect

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Dialect names the server whose answers a store gives where its own are
// cleaner: to a malformed request EventStoreDB often answers UNKNOWN, or
// nothing at all.
type Dialect string

// The answers. All but the store's own are for tests of clients.
const (
	Own   Dialect = ""
	V2310 Dialect = "23.10"
	V2410 Dialect = "24.10"
)

// Fault is a kind of request to which real servers have answers of their own.
type Fault int

// The faults.
const (
	FaultHandled  Fault = iota // their handler of the request throws
	FaultRevision              // a stream cannot be read like this
	FaultPosition              // no event begins at the position
	FaultCount                 // of 0, for the log
	FaultWindow                // of 0, of a filter
	FaultIDs                   // in no form
)

// RequestError refuses a request. The store's own answer is INVALID_ARGUMENT.
type RequestError struct {
	Fault   Fault
	message string
}

func (f *RequestError) Error() string { return f.message }

// GRPCStatus is what package status looks for.
func (f *RequestError) GRPCStatus() *status.Status {
	return status.New(codes.InvalidArgument, f.message)
}

// Invalid refuses a request with INVALID_ARGUMENT, as real servers do.
func Invalid(message string) error { return status.Error(codes.InvalidArgument, message) }

// Refuse refuses a request for a fault.
func Refuse(f Fault, message string) error { return &RequestError{f, message} }

// Malformed refuses what the handlers of real servers stumble over.
func Malformed(message string) error { return Refuse(FaultHandled, message) }

// Answer is what a real server says of a fault.
type Answer struct {
	Confirmed bool       // the subscription, first
	Code      codes.Code // OK: no answer ever comes
	Message   string
}

// Answer returns the answer of a real server to a call.
func (a Dialect) Answer(f Fault, subscription bool) Answer {
	thrown := Answer{Code: codes.Unknown, Message: "Exception was thrown by handler."}
	later := a == V2410
	switch f {
	case FaultHandled:
		return thrown
	case FaultRevision:
		return Answer{Code: codes.Unknown, Message: "Unexpected ReadStreamResult: Error"}
	case FaultPosition:
		switch {
		case subscription && later:
			return Answer{
				Confirmed: true, Code: codes.InvalidArgument,
				Message: "Trying to read from an invalid position.",
			}
		case subscription:
			return thrown
		case later:
			return Answer{Code: codes.Unknown, Message: "Unexpected ReadAllResult: InvalidPosition"}
		}
		return Answer{Code: codes.Unknown, Message: "Unexpected ReadAllResult: Error"}
	case FaultWindow:
		if subscription && later {
			thrown.Confirmed = true
			return thrown
		}
		return Answer{Confirmed: subscription}
	case FaultIDs:
		if later {
			return Answer{Code: codes.InvalidArgument}
		}
	case FaultCount:
	}
	return Answer{}
}

// HidesCaughtUp tells whether a subscription to a stream without events hears
// nothing of having caught up.
func (a Dialect) HidesCaughtUp() bool { return a == V2310 }
