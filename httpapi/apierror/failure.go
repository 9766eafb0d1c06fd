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

// Failure is the part of an error that the client gets.
type Failure struct {
	Code    Code
	Details string
	Fields  []string // settings of the URL that caused the refusal
	Status  int

	RetryAfter time.Duration // 0: the default
}

// Refusal returns the failure for an error that is a refusal, and false for every other error.
func Refusal(err error) (Failure, bool) {
	if refused, ok := errors.AsType[*Error](err); ok {
		return Failure{
			Code: refused.Code, Details: clip(refused.Details),
			Status: cmp.Or(refused.Status, refused.Code.Status()), RetryAfter: refused.RetryAfter,
		}, true
	}
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		known, ok := codeOfKind[refused.Kind]
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

// Fault returns the failure for an error that is not a refusal. It reveals nothing of the cause.
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
