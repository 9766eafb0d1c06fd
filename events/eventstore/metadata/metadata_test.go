package metadata_test

import (
	"slices"
	"strings"
	"testing"

	"linkledger/events/eventstore/metadata"
)

func TestNames(t *testing.T) {
	t.Parallel()
	if got := metadata.StreamOf("a"); got != "$$a" {
		t.Errorf("the metadata of a is in %s", got)
	}
	for stream, want := range map[string]string{"$$a": "a", "$a": "", "a": ""} {
		if of, ok := metadata.Of(stream); ok != (want != "") || ok && of != want {
			t.Errorf("%s: %s, %v", stream, of, ok)
		}
	}
}

func TestHiddenBy(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("9", 20)
	for stored, want := range map[string][]string{
		`{}`: nil, `{"owner":1}`: nil,
		`{"$tb":3}`:                    {"$tb 3"},
		`{"$acl":{},"$maxCount":2}`:    {"$maxCount 2", "$acl"},
		`{"$maxAge":` + long + `}`:     {"$maxAge"},
		`{"$maxAge":` + long[1:] + `}`: {"$maxAge " + long[1:]},
		`null`:                         {"metadata that cannot be read"},
		`{'$tb':1}`:                    {"metadata that cannot be read"},
	} {
		if got := metadata.HiddenBy([]byte(stored)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", stored, got, want)
		}
	}
}

func TestWithReader(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stored, want  string // want is empty if the stored metadata is refused
		before, after string
	}{
		"none":        {"", `{"$acl":{"$r":["$admins","ada"]}}`, "$admins", "$admins ada"},
		"one":         {`{"$acl":{"$r":"ops","$w":"w"}}`, `{"$acl":{"$r":["ops","ada"],"$w":"w"}}`, "ops", "ops ada"},
		"several":     {`{"a":[1],"$acl":{"$r":["b","c"]}}`, `{"$acl":{"$r":["b","c","ada"]},"a":[1]}`, "b c", "b c ada"},
		"already":     {`{"$acl":{"$r":["ada"]}}`, `{"$acl":{"$r":["ada"]}}`, "ada", "ada"},
		"a list":      {"[]", "", "", ""},
		"no rights":   {`{"$acl":1}`, "", "", ""},
		"odd readers": {`{"$acl":{"$r":{"a":"b"}}}`, "", "", ""},
	} {
		got, readers, err := metadata.WithReader([]byte(tc.stored), "ada")
		if tc.want == "" {
			if err == nil || !strings.Contains(err.Error(), "repair") {
				t.Errorf("%s: %s, %v", name, got, err)
			}
			continue
		}
		if before, after := strings.Join(readers.Before, " "), strings.Join(readers.After, " "); err != nil ||
			string(got) != tc.want || before != tc.before || after != tc.after {
			t.Errorf("%s: %s, %+v, %v", name, got, readers, err)
		}
	}
}
