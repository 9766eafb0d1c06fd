package sealing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/codec"
	"linkledger/events/sealing"
)

func noteKey(t testing.TB, filler byte) *sealing.Key {
	t.Helper()
	key, err := sealing.NewKey(bytes.Repeat([]byte{filler}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const (
	sealedStream  = events.StreamURL + "01935f6e-0000-7000-8000-00000000000b"
	sealedAccount = "01935f6e-0000-7000-8000-00000000000a"
)

// TestSealedGolden opens the sealed notes of the golden files. Their key is 32 bytes of value 7.
func TestSealedGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"url.created.v1+sealed_note": "spring sale", "url.settings_changed.v1+sealed_note": "summer sale",
	} {
		body, err := os.ReadFile("../testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		eventType, _, _ := strings.Cut(name, "+")
		e, err := codec.Decode(eventType, body)
		if err != nil {
			t.Fatal(err)
		}
		if e, err = sealing.Open(e, noteKey(t, 7), sealedStream); err != nil {
			t.Fatal(err)
		}
		if got := noteOf(e); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSealedDetails opens the details of the golden file with their key, and with no other key, for
// no other user, and not as a note.
func TestSealedDetails(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../testdata/user.known.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	e, err := codec.Decode("user.known.v1", body)
	if err != nil {
		t.Fatal(err)
	}
	user, sealed := e.(events.UserKnown).User, sealing.SealedOf(e)
	want := events.Details{
		Issuer: "https://id.example.com", Subject: "248289761001", Mail: "ana@example.com", Name: "Ana Example",
	}
	if got, err := sealing.OpenDetails(sealed, noteKey(t, 7), user); err != nil || got != want {
		t.Errorf("the details are %+v, %v; want %+v", got, err, want)
	}
	if got, err := sealing.OpenDetails(sealed, nil, user); err != nil || got != (events.Details{Name: events.Erased}) {
		t.Errorf("without the key the details are %+v, %v; want only %q", got, err, events.Erased)
	}
	if got, err := sealing.OpenDetails(sealed, noteKey(t, 8), user); err == nil {
		t.Errorf("another key opens the details: %+v", got)
	}
	if got, err := sealing.OpenDetails(sealed, noteKey(t, 7), sealedAccount); err == nil {
		t.Errorf("they are opened for another user: %+v", got)
	}
	if got, err := sealing.Open(events.URLCreated{SealedNote: sealed}, noteKey(t, 7), events.StreamUser+user); err == nil {
		t.Errorf("they are opened as a note: %+v", got)
	}
	again, err := sealing.Seal(events.UserKnown{User: user, Details: want}, noteKey(t, 7), user, events.StreamUser+user)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := codec.Encode(again)
	if err != nil || bytes.Contains(stored, []byte("ana@")) || bytes.Contains(stored, []byte("Example")) {
		t.Errorf("%s, %v has details in plain text", stored, err)
	}
}

func noteOf(e events.Event) string {
	switch e := e.(type) {
	case events.URLCreated:
		return e.Note
	case events.URLSettingsChanged:
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
		note := events.CleanText(rapid.StringN(0, 25, -1).Draw(rt, "note"))
		var plain events.Event = events.URLCreated{Note: note}
		if rapid.Bool().Draw(rt, "edit") {
			plain = events.URLSettingsChanged{Note: &note}
		}
		sealed, err := sealing.Seal(plain, noteKey(t, 1), sealedAccount, sealedStream)
		if err != nil {
			rt.Fatal(err)
		}
		stored, err := codec.Encode(sealed)
		if err != nil {
			rt.Fatal(err)
		}
		if text, _ := json.Marshal(note); len(note) > 4 && bytes.Contains(stored, text[1:len(text)-1]) {
			rt.Fatalf("the note is in %s", stored)
		}
		if e, err := sealing.Open(sealed, noteKey(t, 1), sealedStream); err != nil || noteOf(e) != note {
			rt.Fatalf("%q was opened as %+v, %v", note, e, err)
		}
		if sealing.HasPersonal(sealed) != (note != "") || (sealing.SealedOf(sealed) != nil) != (note != "") {
			rt.Fatalf("%q was sealed as %s", note, stored)
		}
		if note == "" {
			return
		}
		if _, err := sealing.Open(sealed, noteKey(t, 2), sealedStream); err == nil {
			rt.Fatal("another key opens it")
		}
		if _, err := sealing.Open(sealed, noteKey(t, 1), sealedStream+"0"); err == nil {
			rt.Fatal("it is opened in another stream")
		}
		sealing.SealedOf(sealed).Account = "another"
		if _, err := sealing.Open(sealed, noteKey(t, 1), sealedStream); err == nil {
			rt.Fatal("it is opened for another account")
		}
		if e, err := sealing.Open(sealed, nil, sealedStream); err != nil || noteOf(e) != events.Erased || !sealing.SealedOf(e).Erased {
			rt.Fatalf("without its key it is %+v, %v", e, err)
		}
	})
}

func TestEraseNote(t *testing.T) {
	t.Parallel()
	empty := ""
	for _, e := range []events.Event{events.URLCreated{}, events.URLSettingsChanged{}, events.URLSettingsChanged{Note: &empty}, events.URLDeleted{}} {
		if erased := sealing.Erase(e); noteOf(erased) != "" || sealing.SealedOf(erased) != nil {
			t.Errorf("%+v became %+v", e, erased)
		}
	}
	if e := sealing.Erase(events.URLCreated{Note: "never sealed"}); noteOf(e) != events.Erased || !sealing.SealedOf(e).Erased {
		t.Errorf("a note became %+v", e)
	}
}

func TestNoteKeySize(t *testing.T) {
	t.Parallel()
	if _, err := sealing.NewKey(make([]byte, 16)); err == nil {
		t.Error("a key of 16 bytes is accepted")
	}
}

// TestSealChecksTexts checks that texts are checked before they become unreadable.
func TestSealChecksTexts(t *testing.T) {
	t.Parallel()
	key, odd := noteKey(t, 1), "a\x1b[2J"
	for _, e := range []events.Event{
		events.URLCreated{Note: odd}, events.URLSettingsChanged{Note: &odd}, events.UserKnown{Details: events.Details{Name: odd}},
	} {
		_, err := sealing.Seal(e, key, sealedAccount, sealedStream)
		if _, refused := errors.AsType[*codec.TextError](err); !refused {
			t.Errorf("%T with %q is sealed: %v", e, odd, err)
		}
	}
}

// TestSealedTarget opens the targets of the golden files with their key, and with no other purpose or stream.
func TestSealedTarget(t *testing.T) {
	t.Parallel()
	const stream = events.StreamWebhooks + sealedAccount
	for _, name := range []string{"webhook.added.v1", "webhook.changed.v1", "webhook.secret_rotated.v1"} {
		body, err := os.ReadFile("../testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		e, err := codec.Decode(name, body)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := sealing.Open(e, noteKey(t, 7), stream)
		if got := targetOf(opened); err != nil || got.URL != "https://example.com/hook" || got.Secret == "" || got.Key == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if again, err := sealing.Seal(opened, noteKey(t, 8), sealedAccount, stream); err != nil || targetOf(again).URL != "" ||
			sealing.SealedOf(again) == nil {
			t.Errorf("%s: sealed again: %+v, %v", name, again, err)
		}
		if _, err := sealing.Open(e, noteKey(t, 7), stream+"x"); !errors.Is(err, sealing.ErrUnreadable) {
			t.Errorf("%s: opened in another stream: %v", name, err)
		}
		if _, err := sealing.Open(e, noteKey(t, 8), stream); !errors.Is(err, sealing.ErrUnreadable) {
			t.Errorf("%s: opened by another key: %v", name, err)
		}
		if got := targetOf(sealing.Erase(e)); got.URL != events.Erased || got.Secret != "" {
			t.Errorf("%s: erased: %+v", name, got)
		}
		if got := targetOf(sealing.Lose(e)); got.URL != events.LostKey {
			t.Errorf("%s: lost: %+v", name, got)
		}
		if !sealing.HasPersonal(e) {
			t.Errorf("%s has nothing personal", name)
		}
	}
}

func targetOf(e events.Event) events.WebhookTarget {
	switch e := e.(type) {
	case events.WebhookAdded:
		return e.Target
	case events.WebhookChanged:
		return e.Target
	case events.WebhookSecretRotated:
		return e.Target
	}
	return events.WebhookTarget{}
}
