package events

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func noteKey(t testing.TB, filler byte) *NoteKey {
	t.Helper()
	key, err := NewNoteKey(bytes.Repeat([]byte{filler}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const (
	sealedStream  = StreamURL + "01935f6e-0000-7000-8000-00000000000b"
	sealedAccount = "01935f6e-0000-7000-8000-00000000000a"
)

// TestSealedGolden opens the sealed notes of the golden files. Their key is 32 bytes of value 7.
func TestSealedGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"url.created.v1+sealed_note": "spring sale", "url.settings_changed.v1+sealed_note": "summer sale",
	} {
		body, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		eventType, _, _ := strings.Cut(name, "+")
		e, err := Decode(eventType, body)
		if err != nil {
			t.Fatal(err)
		}
		if e, err = OpenNote(e, noteKey(t, 7), sealedStream); err != nil {
			t.Fatal(err)
		}
		if got := noteOf(e); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func noteOf(e Event) string {
	switch e := e.(type) {
	case URLCreated:
		return e.Note
	case URLSettingsChanged:
		if e.Note != nil {
			return *e.Note
		}
	}
	return ""
}

// TestSealNote checks that a sealed note opens only with its key and only in its stream, and that
// the stored event does not contain the note in plain text.
func TestSealNote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		note := rapid.StringN(0, 25, -1).Draw(rt, "note")
		var plain Event = URLCreated{Note: note}
		if rapid.Bool().Draw(rt, "edit") {
			plain = URLSettingsChanged{Note: &note}
		}
		sealed := SealNote(plain, noteKey(t, 1), sealedAccount, sealedStream)
		stored, err := Encode(sealed)
		if err != nil {
			rt.Fatal(err)
		}
		if text, _ := json.Marshal(note); len(note) > 4 && bytes.Contains(stored, text[1:len(text)-1]) {
			rt.Fatalf("the note is in %s", stored)
		}
		if e, err := OpenNote(sealed, noteKey(t, 1), sealedStream); err != nil || noteOf(e) != note {
			rt.Fatalf("%q was opened as %+v, %v", note, e, err)
		}
		if HasNote(sealed) != (note != "") || (SealedNoteOf(sealed) != nil) != (note != "") {
			rt.Fatalf("%q was sealed as %s", note, stored)
		}
		if note == "" {
			return
		}
		if _, err := OpenNote(sealed, noteKey(t, 2), sealedStream); err == nil {
			rt.Fatal("another key opens it")
		}
		if _, err := OpenNote(sealed, noteKey(t, 1), sealedStream+"0"); err == nil {
			rt.Fatal("it is opened in another stream")
		}
		SealedNoteOf(sealed).Account = "another"
		if _, err := OpenNote(sealed, noteKey(t, 1), sealedStream); err == nil {
			rt.Fatal("it is opened for another account")
		}
		if e, err := OpenNote(sealed, nil, sealedStream); err != nil || noteOf(e) != Erased || !SealedNoteOf(e).Erased {
			rt.Fatalf("without its key it is %+v, %v", e, err)
		}
	})
}

func TestEraseNote(t *testing.T) {
	t.Parallel()
	empty := ""
	for _, e := range []Event{URLCreated{}, URLSettingsChanged{}, URLSettingsChanged{Note: &empty}, URLDeleted{}} {
		if erased := EraseNote(e); noteOf(erased) != "" || SealedNoteOf(erased) != nil {
			t.Errorf("%+v became %+v", e, erased)
		}
	}
	if e := EraseNote(URLCreated{Note: "never sealed"}); noteOf(e) != Erased || !SealedNoteOf(e).Erased {
		t.Errorf("a note became %+v", e)
	}
}

func TestNoteKeySize(t *testing.T) {
	t.Parallel()
	if _, err := NewNoteKey(make([]byte, 16)); err == nil {
		t.Error("a key of 16 bytes is accepted")
	}
}
