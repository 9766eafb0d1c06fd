package apierror

import (
	"cmp"
	"errors"
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

	RetryAfter time.Duration // 0: 1 s
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
	if undecoded, ok := errors.AsType[*commands.DecodeError](err); ok {
		return unknownState(undecoded), true
	}
	if errors.Is(err, queries.ErrNotFound) {
		return Failure{Code: CodeURLNotFound, Status: CodeURLNotFound.Status()}, true
	}
	return Failure{}, false
}
