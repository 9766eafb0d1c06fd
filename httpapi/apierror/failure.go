package apierror

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"linkledger/commands"
	"linkledger/commands/domain"
	"linkledger/queries"
	"linkledger/queries/linklist"
)

// Failure is what a client learns of an error.
type Failure struct {
	Code    Code
	Details string
	Fields  []string // of a URL
	Status  int

	RetryAfter time.Duration // 0: after a moment
}

// Refusal tells whether an error is a refusal, and what the client learns of it.
func Refusal(err error) (Failure, bool) {
	if refused, ok := errors.AsType[*Error](err); ok {
		return Failure{
			Code: refused.Code, Details: clip(refused.Details),
			Status: cmp.Or(refused.Status, refused.Code.Status()), RetryAfter: refused.RetryAfter,
		}, true
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		known, ok := kinds[refused.Kind]
		if !ok {
			return Failure{}, false
		}
		return Failure{
			Code: known, Details: clip(refused.Details), Fields: refused.Fields,
			Status: known.Status(),
		}, true
	}
	if unknown, ok := errors.AsType[*linklist.UnknownTagError](err); ok {
		return Failure{
			Code: CodeTagNotFound, Details: clip(unknown.Error()), Status: CodeTagNotFound.Status(),
		}, true
	}
	if errors.Is(err, queries.ErrNotFound) {
		return Failure{Code: CodeURLNotFound, Status: CodeURLNotFound.Status()}, true
	}
	return Failure{}, false
}

// Fault returns what a client learns of an error that is no refusal.
func Fault(err error) Failure {
	if errors.Is(err, commands.ErrCut) {
		return Failure{
			Code:    CodeUnknown,
			Details: "Part of the history is missing in the event store. An operator has to look.",
			Status:  http.StatusInternalServerError,
		}
	}
	if !isOutage(err) {
		return Failure{Code: CodeUnknown, Status: http.StatusInternalServerError}
	}
	return Failure{
		Code: CodeUnknown, Details: "The service cannot answer now, try again",
		Status: http.StatusServiceUnavailable,
	}
}
