package tagexpr_test

import (
	"slices"
	"testing"

	"linkledger/tagexpr"
)

// TestLabelsOfExpressions checks which labels an expression has, which of them exclude subjects, and whether it depends
// on clicks.
func TestLabelsOfExpressions(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]struct {
		labels, excluded []string
		clicks           bool
	}{
		"a":                      {[]string{"a"}, nil, false},
		"a&b|a":                  {[]string{"a", "b"}, nil, false},
		"~a":                     {[]string{"a"}, []string{"a"}, false},
		"a&~b&~c":                {[]string{"a", "b", "c"}, []string{"b", "c"}, false},
		"a^b":                    {[]string{"a", "b"}, []string{"a", "b"}, false},
		"~(a|b)&~a":              {[]string{"a", "b"}, []string{"a", "b"}, false},
		"~(a&~b)|~A":             {[]string{"a", "b", "A"}, []string{"a", "b", "A"}, false},
		"visited":                {nil, nil, true},
		"a&~visited":             {[]string{"a"}, nil, true},
		"~archived":              {nil, nil, false},
		"(a&visited)|b":          {[]string{"a", "b"}, nil, true},
		"archived&>2020-01-01":   {nil, nil, false},
		`a&~"visited by robots"`: {[]string{"a", "visited by robots"}, []string{"visited by robots"}, false},
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			parsed, err := tagexpr.Parse(expression)
			if err != nil {
				t.Fatal(err)
			}
			if got := parsed.Labels(); !slices.Equal(got, want.labels) {
				t.Errorf("the labels are %q, want %q", got, want.labels)
			}
			if got := parsed.Excluded(); !slices.Equal(got, want.excluded) {
				t.Errorf("the excluded labels are %q, want %q", got, want.excluded)
			}
			if got := parsed.DependsOnClicks(); got != want.clicks {
				t.Errorf("it depends on clicks: %t, want %t", got, want.clicks)
			}
		})
	}
}
