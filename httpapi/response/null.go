package response

import (
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/contract"
)

// TextOrNull returns a text, or nil if the text is empty. nil is null in JSON.
func TextOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// TextOf returns an id as text, or "" for the zero id.
func TextOf(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// Time returns a time in the format of the contract.
func Time(at time.Time) contract.Timestamp { return contract.Timestamp{Time: at} }

// TimeOrNull returns a time in the format of the contract, or nil if at is nil. nil is null in
// JSON.
func TimeOrNull(at *time.Time) *contract.Timestamp {
	if at == nil {
		return nil
	}
	return &contract.Timestamp{Time: *at}
}
