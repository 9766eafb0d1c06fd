package response

import "github.com/google/uuid"

// TextOrNull returns a text, or nil for an empty one, which is null in JSON.
func TextOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// IDOrNull returns an id, or nil for the zero one, which is null in JSON.
func IDOrNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}
