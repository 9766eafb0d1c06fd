package domain

import (
	"testing"

	"linkledger/events"

	"github.com/google/uuid"
)

// TestTagsAreFoundAfterRenames checks that a tag is found by its current label and not by previous
// ones.
func TestTagsAreFoundAfterRenames(t *testing.T) {
	t.Parallel()
	var tags Tags
	one, two := uuid.NewString(), uuid.NewString()
	for _, e := range []events.Event{
		events.TagCreated{TagID: one, Label: "Red"},
		events.TagCreated{TagID: two, Label: "blue"},
		events.TagRenamed{TagID: one, Label: "RED"},
		events.TagRenamed{TagID: two, Label: "green"},
		events.TagRenamed{TagID: one, Label: "blue"},
		events.TagDeleted{TagID: two},
		events.TagRenamed{TagID: two, Label: "gone"},
	} {
		tags.Apply(e)
	}
	for label, want := range map[string]string{" Blue ": one, "red": "", "green": "", "gone": ""} { //nolint:gocritic // the spaces are tested
		if tag, ok := tags.ByLabel(label); tag.ID != want || ok != (want != "") {
			t.Errorf("%q is %+v, %v", label, tag, ok)
		}
	}
}
