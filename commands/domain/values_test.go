package domain

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"linkledger/events"
)

func TestCheckDate(t *testing.T) {
	t.Parallel()
	tests := map[string]Kind{
		"": 0, "2026-02-28": 0, "2028-02-29": 0, "1999-12-31": 0,
		"2026-02-29": InvalidDate, "2026-13-01": InvalidDate, "2026-1-1": InvalidDate, "tomorrow": InvalidDate,
		"0000-01-01": InvalidDate, "0001-01-01": 0,
		"2026-01-01T00:00:00Z": InvalidDate, "20260101": InvalidDate,
	}
	for date, want := range tests {
		if got := KindOf(CheckDate(date)); got != want {
			t.Errorf("%q: got %d, want %d", date, got, want)
		}
	}
}

func TestTrimNote(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("é", 25)
	for note, want := range map[string]string{
		"": "", "abc": "abc", full: full, full + "é": full, full[2:] + "\xffbc": full[2:] + "\uFFFD", "a\x00b": "ab",
		"a\r\nb\tc": "a  b c", "\x1b[31mred": "[31mred", "a\u0085b\x7f": "a b",
	} {
		if got := TrimNote(note); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: got %q, want %q", note, got, want)
		}
	}
}

func TestCheckLabel(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"a": "a", "  Spring 2027 ": "Spring 2027", "é_-.": "é_-.", strings.Repeat("ä", 50): strings.Repeat("ä", 50), //nolint:gocritic // the spaces are tested
	} {
		if got, err := checkLabel(label); err != nil || got != want {
			t.Errorf("%q: got %q, %v", label, got, err)
		}
	}
	for _, label := range []string{
		"", "  ", strings.Repeat("ä", 51), "a\"b", "a\tb", "Archived", "a\xff",
	} {
		if _, err := checkLabel(label); KindOf(err) != InvalidLabel {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// FuzzValues checks that an accepted value can be sent in a header, stored and compared, as the
// rest of the service requires.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/?a=b#c", "http://[::1]:80/", "2026-02-29", "0000-01-01", "9999-12-31", " Café-1 ",
		"visited", "a\x00b", "\xff", "ſ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if CheckDate(text) == nil && text != "" && len(text) != len(time.DateOnly) {
			t.Errorf("%q is a date", text)
		}
		if note := TrimNote(text); utf8.RuneCountInString(note) > maxNote || !events.IsText(note) {
			t.Errorf("the note of %q is %q", text, note)
		}
		label, err := checkLabel(text)
		if err != nil {
			return
		}
		if again, err := checkLabel(label); err != nil || again != label || label == "" ||
			utf8.RuneCountInString(label) > 50 {
			t.Errorf("the label of %q is %q, of which it is %q, %v", text, label, again, err)
		}
	})
}

// TestRestoreToALostNote checks that a link that returns to a note whose key is lost says so in full.
func TestRestoreToALostNote(t *testing.T) {
	t.Parallel()
	was := Link{ID: "id", Hash: "a", Note: events.LostKey}
	now := was
	now.Note = "readable"
	for _, e := range now.Restore(was, 0, time.Now()) {
		now.Apply(e)
	}
	if now.Note != events.LostKey {
		t.Errorf("the note reads %q", now.Note)
	}
}
