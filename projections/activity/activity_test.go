package activity

import (
	"testing"

	"github.com/google/uuid"
)

// TestWithoutCausation checks that metadata of two links of one call are equal, and that nothing
// else is.
func TestWithoutCausation(t *testing.T) {
	t.Parallel()
	const head, tail = `{"$correlationId":"r","$causationId":"`, `","batch":"b"}`
	texts := []string{
		head + uuid.NewString() + tail,
		head + "no id" + tail,
		head + uuid.NewString() + `","batch":"c"}`,
		`{"$correlationId":"s","$causationId":"` + uuid.NewString() + tail,
		head + uuid.NewString() + `"`,
		head + uuid.NewString(),
		`{"$correlationId":"r","batch":"b"}`,
		`{"$correlationId":"r",`,
		"",
	}
	seen := make(map[callText]string)
	for _, text := range texts {
		key := withoutCausation([]byte(text))
		if other, ok := seen[key]; ok {
			t.Errorf("%s is the same as %s", text, other)
		}
		seen[key] = text
	}
	if again := withoutCausation([]byte(head + uuid.NewString() + tail)); seen[again] != texts[0] {
		t.Errorf("another causation makes a difference: %v", again)
	}
}
