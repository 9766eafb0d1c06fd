package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGolden checks that every body that was ever stored can be decoded. A new event version adds a
// golden file. New fields of a version add a file with a plus sign in its name. Existing files MUST
// NOT be edited.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			eventType, _, _ := strings.Cut(name, "+")
			event, err := Decode(eventType, golden)
			if err != nil {
				t.Fatal(err)
			}
			if event.EventType() != eventType {
				t.Fatalf("decoded to %s", event.EventType())
			}
			again, err := Encode(event)
			if err != nil {
				t.Fatal(err)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, golden); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, compact.Bytes()) {
				t.Errorf("a field was lost or changed its name:\nstored  %s\nencoded %s", compact.Bytes(), again)
			}
		})
	}
}

func TestEveryTypeHasAGoldenFile(t *testing.T) {
	t.Parallel()
	for eventType := range decoders {
		if _, err := os.Stat(filepath.Join("..", "testdata", eventType+".json")); err != nil {
			t.Error(err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	if _, err := Decode("url.created.v99", []byte("{}")); !errors.Is(err, ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := Decode("url.created.v1", []byte(`{"at":`)); err == nil || errors.Is(err, ErrUnknownType) {
		t.Errorf("broken body: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for eventType := range decoders {
		golden, err := os.ReadFile(filepath.Join("..", "testdata", eventType+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(eventType, golden)
	}
	f.Fuzz(func(t *testing.T, eventType string, body []byte) {
		event, err := Decode(eventType, body)
		if err != nil {
			return
		}
		once, err := Encode(event)
		if err != nil {
			return // a time outside the years that RFC 3339 can write
		}
		again, err := Decode(eventType, once)
		if err != nil {
			t.Fatalf("decode the encoded event: %v", err)
		}
		if twice, err := Encode(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not stable: %s, %s, %v", once, twice, err)
		}
	})
}
