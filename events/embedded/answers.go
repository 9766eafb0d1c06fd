package embedded

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Answers names the server whose answers a store gives where its own are
// cleaner: to a malformed request EventStoreDB often answers UNKNOWN, or
// nothing at all.
type Answers string

// The answers. All but the store's own are for tests of clients.
const (
	AnswersOwn  Answers = ""
	Answers2310 Answers = "23.10"
	Answers2410 Answers = "24.10"
)

// fault is a kind of request to which real servers have answers of their own.
type fault int

const (
	faultHandled  fault = iota // their handler of the request throws
	faultRevision              // a stream cannot be read like this
	faultPosition              // no event begins at the position
	faultCount                 // of 0, for the log
	faultWindow                // of 0, of a filter
	faultIDs                   // in no form
)

// faulty refuses a request. The store's own answer is INVALID_ARGUMENT.
type faulty struct {
	fault   fault
	message string
}

func (f *faulty) Error() string { return f.message }

// GRPCStatus is what package status looks for.
func (f *faulty) GRPCStatus() *status.Status { return status.New(codes.InvalidArgument, f.message) }

// malformed refuses what the handlers of real servers stumble over.
func malformed(message string) error { return &faulty{faultHandled, message} }

// realAnswer is what a real server says of a fault.
type realAnswer struct {
	confirmed bool       // the subscription, first
	code      codes.Code // OK: no answer ever comes
	message   string
}

// of returns the answer of a real server to a call.
func (a Answers) of(f fault, subscription bool) realAnswer {
	thrown := realAnswer{code: codes.Unknown, message: "Exception was thrown by handler."}
	later := a == Answers2410
	switch f {
	case faultHandled:
		return thrown
	case faultRevision:
		return realAnswer{code: codes.Unknown, message: "Unexpected ReadStreamResult: Error"}
	case faultPosition:
		switch {
		case subscription && later:
			return realAnswer{confirmed: true, code: codes.InvalidArgument, message: "Trying to read from an invalid position."}
		case subscription:
			return thrown
		case later:
			return realAnswer{code: codes.Unknown, message: "Unexpected ReadAllResult: InvalidPosition"}
		}
		return realAnswer{code: codes.Unknown, message: "Unexpected ReadAllResult: Error"}
	case faultWindow:
		if subscription && later {
			thrown.confirmed = true
			return thrown
		}
		return realAnswer{confirmed: subscription}
	case faultIDs:
		if later {
			return realAnswer{code: codes.InvalidArgument}
		}
	case faultCount:
	}
	return realAnswer{}
}

// objection returns an error for a read that only real servers refuse.
func (a Answers) objection(q *readRequest) error {
	if a == AnswersOwn {
		return nil
	}
	switch {
	case q.noIDs:
		return &faulty{faultIDs, "a read tells in which form it takes ids"}
	case q.subscribe:
	case q.count == 0 && q.stream == "":
		return &faulty{faultCount, "a read of no events"}
	case q.stream != "" && (q.count == 0 || q.from == fromEnd && !q.backwards):
		return &faulty{faultRevision, "a read of no events"}
	}
	return nil
}

// hidesCaughtUp tells whether a subscription to a stream without events hears
// nothing of having caught up.
func (a Answers) hidesCaughtUp(st *streamState) bool {
	return a == Answers2310 && (st.last < 0 || st.softDeleted())
}

// failure is the error of a call, as a client expects it. confirm confirms a
// subscription; nil: the call is none, or is confirmed.
func (s *Store) failure(ctx context.Context, err error, confirm func() error) error {
	var f *faulty
	if s.cfg.Answers == AnswersOwn || !errors.As(err, &f) {
		return failure(ctx, err)
	}
	answer := s.cfg.Answers.of(f.fault, confirm != nil)
	if answer.confirmed {
		if err := confirm(); err != nil {
			return failure(ctx, err)
		}
	}
	if answer.code != codes.OK {
		return status.Error(answer.code, answer.message)
	}
	select {
	case <-ctx.Done():
		return failure(ctx, context.Cause(ctx))
	case <-s.ending.Done():
		return failure(ctx, ErrClosed)
	}
}
