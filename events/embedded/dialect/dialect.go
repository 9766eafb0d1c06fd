// Package dialect has the errors that the store returns for malformed requests, and, for tests of
// clients, those that EventStoreDB 23.10 and 24.10 return.
package dialect

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Dialect selects the server whose responses a store gives to malformed requests. EventStoreDB
// often responds to them with UNKNOWN, or never. The store's own responses are cleaner.
type Dialect string

// The dialects. Own is that of this store. The others are for tests of clients.
const (
	Own   Dialect = ""
	V2310 Dialect = "23.10"
	V2410 Dialect = "24.10"
)

// Fault is a kind of malformed request to which real servers respond differently.
type Fault int

// The faults.
const (
	FaultException Fault = iota // the handler of the real server throws an exception
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

// Invalid returns an INVALID_ARGUMENT error for a request that real servers refuse in the same way.
func Invalid(message string) error { return status.Error(codes.InvalidArgument, message) }

// Refuse returns the error of a request with a fault.
func Refuse(f Fault, message string) error { return &RequestError{f, message} }

// Malformed returns the error of a request for which the handlers of real servers throw an
// exception.
func Malformed(message string) error { return Refuse(FaultException, message) }

// Response is the response of a real server to a request with a fault.
type Response struct {
	Confirmed bool       // the server confirms the subscription first
	Code      codes.Code // OK means that the server never responds
	Message   string
}

// Response returns the response of the real server to a request with the fault.
func (a Dialect) Response(f Fault, subscription bool) Response {
	thrown := Response{Code: codes.Unknown, Message: "Exception was thrown by handler."}
	later := a == V2410
	switch f {
	case FaultException:
		return thrown
	case FaultRevision:
		return Response{Code: codes.Unknown, Message: "Unexpected ReadStreamResult: Error"}
	case FaultPosition:
		switch {
		case subscription && later:
			return Response{
				Confirmed: true, Code: codes.InvalidArgument,
				Message: "Trying to read from an invalid position.",
			}
		case subscription:
			return thrown
		case later:
			return Response{
				Code: codes.Unknown, Message: "Unexpected ReadAllResult: InvalidPosition",
			}
		}
		return Response{Code: codes.Unknown, Message: "Unexpected ReadAllResult: Error"}
	case FaultWindow:
		if subscription && later {
			thrown.Confirmed = true
			return thrown
		}
		return Response{Confirmed: subscription}
	case FaultIDs:
		if later {
			return Response{Code: codes.InvalidArgument}
		}
	case FaultCount:
	}
	return Response{}
}

// HidesCaughtUp reports whether the server sends no CaughtUp to a subscription to a stream without
// events.
func (a Dialect) HidesCaughtUp() bool { return a == V2310 }
