package domain

import (
	"errors"
	"strings"
	"testing"

	"linkledger/events"

	"github.com/google/uuid"
)

// FuzzLabelKey checks that two labels have the same key exactly if strings.EqualFold considers them
// equal.
func FuzzLabelKey(f *testing.F) {
	for _, seed := range [][2]string{{"Red", "rED"}, {"K", "\u212a"}, {"ſ", "S"}, {"ß", "ss"}, {"Σ", "ς"}, {"a", "b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		_, first := checkLabel(a)
		_, second := checkLabel(b)
		if errors.Join(first, second) != nil {
			return
		}
		if same := strings.EqualFold(a, b); same != (labelKey(a) == labelKey(b)) {
			t.Errorf("%q and %q: same %v, keys %q and %q", a, b, same, labelKey(a), labelKey(b))
		}
	})
}

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
