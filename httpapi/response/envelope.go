// Package response writes the responses of the API: the envelope that each begins with, and
// failures. It logs the causes of failures, which clients MUST NOT get.
package response

import (
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

// The headers of responses.
const (
	// HeaderBatchID has the id for undoing a write.
	HeaderBatchID = "X-Batch-Id"
	// HeaderPosition has the commit position in the log of the last event of a write.
	HeaderPosition = "X-Event-Position"
	// HeaderBehind has the age in seconds of the oldest change that an answer may lack.
	HeaderBehind = "X-Seconds-Behind"
)

// version is the version in every envelope. Clients of this API refuse responses without it.
const version = "3.1"

// Succeeded returns the envelope of a call that succeeded.
func Succeeded() contract.Envelope { return contract.Envelope{Version: version} }

// failureEnvelope returns the envelope of a call that failed, which is the whole response.
func failureEnvelope(f apierror.Failure) contract.Envelope {
	return contract.Envelope{
		Error: contract.Error{
			Code: int(f.Code), Message: f.Code.Message(), Details: f.Details,
		},
		Version: version,
	}
}

// NewItemError returns the error of an item of a batch. An item that succeeded has the error of an
// empty failure.
func NewItemError(f apierror.Failure) *contract.ItemError {
	return &contract.ItemError{
		Code: int(f.Code), Message: f.Code.Message(), Details: f.Details, Fields: f.Fields,
	}
}
