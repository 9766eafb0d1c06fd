package events

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestLinkStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ id, want string }{
		"in the stream of its hash": {"73707269-6e67-8037-8000-000000000000", "hash-spring7"},
		"the longest hash":          {"61626364-6566-8067-8068-696a6b6c6d6e", "hash-abcdefghijklmn"},
	} {
		if got := LinkStream(c.id); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, id := range map[string]string{
		"version 7":                "01935f6e-0000-7000-8000-00000000000b",
		"version 8 without a hash": "00000000-0000-8000-8000-000000000000",
		"version 7 with a hash":    "73707269-6e67-7037-8000-000000000000",
		"other variant":            "73707269-6e67-8037-c000-000000000000",
		"bits beside the version":  "73707269-6e67-8137-8000-000000000000",
		"bits beside the variant":  "73707269-6e67-8037-8100-000000000000",
		"byte after the hash":      "73707269-6e67-8037-8000-000000000078",
		"upper case":               "73707269-6E67-8037-8000-000000000000",
		"without dashes":           "737072696e6780378000000000000000",
		"no UUID":                  "late",
		"empty":                    "",
	} {
		if got := LinkStream(id); got != "url-"+id {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestLinkOfHash checks that a hash and the id of its link follow from each other.
func TestLinkOfHash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hash := rapid.StringMatching(`[A-Za-z0-9_-]{0,20}`).Draw(t, "hash")
		id, ok := LinkOfHash(hash)
		if fits := 0 < len(hash) && len(hash) <= 14; ok != fits {
			t.Fatalf("%v, want %v", ok, fits)
		}
		if !ok {
			return
		}
		parsed, err := uuid.Parse(id)
		if err != nil || parsed.String() != id || parsed.Version() != 8 || parsed.Variant() != uuid.RFC4122 {
			t.Errorf("the id %s: %v", id, err)
		}
		if stream := LinkStream(id); stream != StreamHash+hash {
			t.Errorf("the link %s lives in %s", id, stream)
		}
	})
	// Every id has one stream, and every stream of a link one id.
	rapid.Check(t, func(t *rapid.T) {
		id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if rapid.Bool().Draw(t, "version 8") {
			id[6] = id[6]&0x0f | 0x80
		}
		if got, ok := LinkIn(LinkStream(id.String())); !ok || got != id.String() {
			t.Errorf("the stream of %s has the link %s", id, got)
		}
	})
}

func TestLinkIn(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"hash-spring": "73707269-6e67-8000-8000-000000000000", "url-x": "x", "tags-a": "",
		"hash-": "", "hash-" + strings.Repeat("x", 15): "", "clicks-2026-11-24": "",
	} {
		id, ok := LinkIn(stream)
		if ok != (want != "") || ok && id != want {
			t.Errorf("%s: %q %v, want %q", stream, id, ok, want)
		}
	}
}
