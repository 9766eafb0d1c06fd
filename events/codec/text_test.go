package codec_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"linkledger/events"
	"linkledger/events/codec"
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
		for place, e := range map[string]events.Event{
			"field":    events.AccountOpened{Plan: text},
			"pointer":  events.URLSettingsChanged{Note: &text},
			"list":     events.URLTagged{Tags: []string{"a", text}},
			"embedded": events.KeyAdded{KeyTerms: events.KeyTerms{Networks: []string{text}}},
			"clicks":   events.ClicksRecorded{Clicks: []events.Click{{}, {Referrer: text}}},
		} {
			_, err := codec.Encode(e)
			if _, refused := errors.AsType[*codec.TextError](err); refused == events.IsText(text) {
				t.Fatalf("%s %q: %v", place, text, err)
			}
		}
		clean := events.CleanText(text)
		if !events.IsText(clean) || events.IsText(text) && clean != text || text != "" && clean == "" {
			t.Fatalf("%q is cleaned to %q", text, clean)
		}
	})
}

// TestTextError checks that the error names the field.
func TestTextError(t *testing.T) {
	t.Parallel()
	_, err := codec.Encode(events.KeyAdded{KeyID: "1", KeyTerms: events.KeyTerms{Name: "a", Tags: "\"a\x00b\""}})
	refused, ok := errors.AsType[*codec.TextError](err)
	if !ok || refused.Field != "tags" || refused.EventType != "account.key_added.v1" {
		t.Errorf("%v", err)
	}
}

// TestMetadataTexts checks that metadata is checked as events are.
func TestMetadataTexts(t *testing.T) {
	t.Parallel()
	if _, err := codec.EncodePart("metadata", events.Metadata{Account: "id", RequestID: "req-1"}); err != nil {
		t.Error(err)
	}
	_, err := codec.EncodePart("metadata", events.Metadata{Account: "id", UndoesKey: "a\x00b"})
	if refused, ok := errors.AsType[*codec.TextError](err); !ok || refused.Field != "undoes_key" {
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
		body, err := json.Marshal(events.KeyAdded{KeyTerms: events.KeyTerms{Name: text, Scopes: []string{text}}})
		if err != nil {
			t.Fatal(err)
		}
		stored := string(body)
		decoded, err := codec.Decode(events.KeyAdded{}.EventType(), body)
		if err != nil {
			t.Fatal(err)
		}
		got, want := decoded.(events.KeyAdded), strings.ReplaceAll(text, "\x00", "\ufffd")
		if got.Name != want || got.Scopes[0] != want || string(body) != stored {
			t.Fatalf("%s is read as %q; want %q", stored, got.Name, want)
		}
	})
}
