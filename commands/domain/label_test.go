package domain

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"
	"time"

	"linkledger/events"
	"linkledger/tagexpr"
	"linkledger/typed"
)

//go:embed testdata/labels.txt
var labelTable string

func TestPastedLabels(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(labelTable) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		given, want, ok := strings.Cut(line, " -> ")
		given, err := strconv.Unquote(given)
		if !ok || err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		got, err := checkLabel(given)
		if reason, refused := strings.CutPrefix(want, "refused: "); refused {
			if err == nil || !strings.Contains(err.Error(), reason) || KindOf(err) != InvalidLabel {
				t.Errorf("%q: %v; want a refusal with %q", given, err, reason)
			}
			continue
		}
		if want, err = strconv.Unquote(want); err != nil {
			t.Fatalf("the line %s: %v", line, err)
		}
		if got != want {
			_, err := checkLabel(given)
			t.Errorf("%q is stored as %q, %v; want %q", given, got, err, want)
		}
	}
}

// TestTagsOfBefore checks which tag a label means if several tags have labels that are the same
// today: v0.1.0 compared labels under simple case folding.
func TestTagsOfBefore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	tags := FoldTags([]events.Event{
		events.TagCreated{TagID: "ss", Label: "strasse"},
		events.TagCreated{TagID: "sz", Label: "straße"},
		events.TagCreated{TagID: "other", Label: "other"},
		events.TagRenamed{TagID: "ss", Label: "Strasse"},
	})
	for label, want := range map[string]string{
		"straße": "sz", "strasse": "ss", "Strasse": "ss", "STRASSE": "ss", "STRAẞE": "sz", "Straße": "sz",
		"ſtraſſe": "ss", "straſse": "ss", "\u0020straße\u0020": "sz",
	} {
		if tag, ok := tags.ByLabel(label); !ok || tag.ID != want {
			t.Errorf("%q is %+v; want %s", label, tag, want)
		}
	}
	if _, err := tags.Rename("other", "STRASSE", now); KindOf(err) != InvalidLabel {
		t.Errorf("a third spelling: %v", err)
	}
	made, refused := tags.Create("a", [][]string{{"Straße", "STRASSE"}}, [16]byte{}, now)
	if len(made) > 0 || refused[0] != nil {
		t.Errorf("%v, %v are created", made, refused)
	}
	deleted, err := tags.Delete("straße", now)
	if err != nil || deleted[0] != (events.TagDeleted{TagID: "sz", At: now}) {
		t.Errorf("deleted is %v, %v", deleted, err)
	}
	tags.Apply(deleted[0])
	if tag, ok := tags.ByLabel("straße"); !ok || tag.ID != "ss" {
		t.Errorf("after the deletion straße is %+v", tag)
	}
}

// FuzzLabels checks that a stored label is its own stored form, that an expression can name it, and
// that it is found by its folded form.
func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"Red", "c++", "-a", "Cafe\u0301", "\u200d", "a\u00a0b", "\U0001f469\u200d\U0001f4bb", "#️⃣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		label, err := checkLabel(text)
		if err != nil {
			return
		}
		if again, err := checkLabel(label); err != nil || again != label {
			t.Errorf("%q is stored as %q, and that as %q, %v", text, label, again, err)
		}
		expr, err := tagexpr.Parse("+" + tagexpr.Quote(label))
		if err != nil || len(expr.Labels()) != 1 || expr.Labels()[0] != label {
			t.Errorf("the expression %s: %v", tagexpr.Quote(label), err)
		}
		tags := FoldTags([]events.Event{events.TagCreated{TagID: "t", Label: label}})
		if _, ok := tags.ByLabel(typed.Fold(text)); !ok {
			t.Errorf("%q is not found by %q", label, typed.Fold(text))
		}
	})
}
