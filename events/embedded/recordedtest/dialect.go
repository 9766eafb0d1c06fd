package recordedtest

import (
	"google.golang.org/grpc/codes"

	"linkledger/events/embedded/dialect"
)

// Version is a version of EventStoreDB. It implements dialect.Dialect.
type Version string

// The versions of the recorded servers.
const (
	V2310 Version = "23.10"
	V2410 Version = "24.10"
)

// Versions returns the versions of the recorded servers.
func Versions() []Version { return []Version{V2310, V2410} }

// Dialects returns the dialects of the store and of the recorded servers, by name.
func Dialects() map[string]dialect.Dialect {
	return map[string]dialect.Dialect{"embedded": nil, string(V2310): V2310, string(V2410): V2410}
}

// Response returns the response of the recorded server to a request with a fault.
func (v Version) Response(f dialect.Fault, subscription bool) dialect.Response {
	thrown := dialect.Response{Code: codes.Unknown, Message: "Exception was thrown by handler."}
	later := v == V2410
	switch f {
	case dialect.FaultException:
		return thrown
	case dialect.FaultRevision:
		return dialect.Response{Code: codes.Unknown, Message: "Unexpected ReadStreamResult: Error"}
	case dialect.FaultPosition:
		switch {
		case subscription && later:
			return dialect.Response{
				Confirmed: true, Code: codes.InvalidArgument,
				Message: "Trying to read from an invalid position.",
			}
		case subscription:
			return thrown
		case later:
			return dialect.Response{
				Code: codes.Unknown, Message: "Unexpected ReadAllResult: InvalidPosition",
			}
		}
		return dialect.Response{Code: codes.Unknown, Message: "Unexpected ReadAllResult: Error"}
	case dialect.FaultWindow:
		if subscription && later {
			thrown.Confirmed = true
			return thrown
		}
		return dialect.Response{Confirmed: subscription}
	case dialect.FaultIDs:
		if later {
			return dialect.Response{Code: codes.InvalidArgument}
		}
	case dialect.FaultCount:
	}
	return dialect.Response{}
}

// HidesCaughtUp reports whether the server sends no CaughtUp to a subscription to a stream without
// events.
func (v Version) HidesCaughtUp() bool { return v == V2310 }
