package typed_test

import (
	"testing"

	"linkledger/typed"
)

func TestMeant(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spelling string
		same     []string
		want     int
	}{
		"none":                       {"strasse", nil, -1},
		"the only one":               {"STRASSE", []string{"straße"}, 0},
		"exactly this one":           {"strasse", []string{"Straße", "Strasse", "strasse"}, 2},
		"exactly the first":          {"straße", []string{"straße", "strasse"}, 0},
		"another case":               {"STRASSE", []string{"straße", "Strasse", "strasse"}, 1},
		"another case before others": {"Straße", []string{"strasse", "STRASSE", "straße"}, 2},
		"another spelling":           {"ſtraſſe", []string{"straße", "STRAßE"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := typed.Meant(tc.spelling, tc.same); got != tc.want {
				t.Errorf("%q of %q means %d, want %d", tc.spelling, tc.same, got, tc.want)
			}
		})
	}
}
