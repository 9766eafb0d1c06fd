package events

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEncodeChecksTexts checks that Encode takes a text if and only if IsText does, in each kind of
// place: a field, a pointer, a list, an embedded struct and the name of a map.
func TestEncodeChecksTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{
				"", "&<>\"\\/", "\u2028", "\ufffd", `\u0000`, `\ufffd`, "a\x00b", "\x1b[31m", "\x7f",
				"\u0080", "\u009f", "\u00a0", "Â", "\xc2", "\xc2\x80", "\xed\xa0\x80", "😀", "\n", "\t",
			}),
		).Draw(t, "text")
		for place, e := range map[string]Event{
			"field":    AccountOpened{Plan: text},
			"pointer":  URLSettingsChanged{Note: &text},
			"list":     URLTagged{Tags: []string{"a", text}},
			"embedded": KeyAdded{KeyTerms: KeyTerms{Networks: []string{text}}},
			"clicks":   ClicksRecorded{Clicks: []Click{{}, {Referrer: text}}},
		} {
			_, err := Encode(e)
			if _, refused := errors.AsType[*TextError](err); refused == IsText(text) {
				t.Fatalf("%s %q: %v", place, text, err)
			}
		}
		clean := CleanText(text)
		if !IsText(clean) || IsText(text) && clean != text || text != "" && clean == "" {
			t.Fatalf("%q is cleaned to %q", text, clean)
		}
	})
}

// TestTextError checks that the error names the field.
func TestTextError(t *testing.T) {
	t.Parallel()
	_, err := Encode(KeyAdded{KeyID: "1", KeyTerms: KeyTerms{Name: "a", Tags: "\"a\x00b\""}})
	refused, ok := errors.AsType[*TextError](err)
	if !ok || refused.Field != "tags" || refused.EventType != "account.key_added.v1" {
		t.Errorf("%v", err)
	}
}

// TestSealChecksTexts checks that texts are checked before they become unreadable.
func TestSealChecksTexts(t *testing.T) {
	t.Parallel()
	key, odd := noteKey(t, 1), "a\x1b[2J"
	for _, e := range []Event{
		URLCreated{Note: odd}, URLSettingsChanged{Note: &odd}, UserKnown{Details: Details{Name: odd}},
	} {
		_, err := Seal(e, key, sealedAccount, sealedStream)
		if _, refused := errors.AsType[*TextError](err); !refused {
			t.Errorf("%T with %q is sealed: %v", e, odd, err)
		}
	}
}

// TestMetadataTexts checks that metadata is checked as events are.
func TestMetadataTexts(t *testing.T) {
	t.Parallel()
	if _, err := EncodeMetadata(Metadata{Account: "id", RequestID: "req-1"}); err != nil {
		t.Error(err)
	}
	_, err := EncodeMetadata(Metadata{Account: "id", UndoesKey: "a\x00b"})
	if refused, ok := errors.AsType[*TextError](err); !ok || refused.Field != "undoes_key" {
		t.Errorf("%v", err)
	}
}

// TestDecodeReplacesNUL checks that an event that was stored with NUL reads as one that PostgreSQL
// can store, and that a text that only looks like an escaped NUL stays.
func TestDecodeReplacesNUL(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "\x00", `\`, `\u0000`, "\"", "\n", "u0000", "\u2028",
		})).Draw(t, "text"), "")
		body, err := json.Marshal(KeyAdded{KeyTerms: KeyTerms{Name: text, Scopes: []string{text}}})
		if err != nil {
			t.Fatal(err)
		}
		stored := string(body)
		decoded, err := Decode(KeyAdded{}.EventType(), body)
		if err != nil {
			t.Fatal(err)
		}
		got, want := decoded.(KeyAdded), strings.ReplaceAll(text, "\x00", "\ufffd")
		if got.Name != want || got.Scopes[0] != want || string(body) != stored {
			t.Fatalf("%s is read as %q; want %q", stored, got.Name, want)
		}
	})
}
