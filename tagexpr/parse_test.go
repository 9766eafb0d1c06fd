package tagexpr

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// write formats a node with all of its brackets.
func write(n *node) string {
	switch n.operation {
	case hasTag:
		return n.label
	case hasFlag:
		return "#" + string(n.flag)
	case after:
		return ">" + n.day.Format(time.DateOnly)
	case before:
		return "<" + n.day.Format(time.DateOnly)
	case not:
		return "~" + write(n.left)
	case and, xor, or:
	}
	return "(" + write(n.left) + map[operation]string{and: "&", xor: "^", or: "|"}[n.operation] + write(n.right) + ")"
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a":                        "a",
		"+a":                       "a",
		" a ":                      "a",
		"+banana&+boxed":           "(banana&boxed)",
		" banana& boxed":           "(banana&boxed)",
		"a,b;c":                    "((a&b)&c)",
		"+banana|+boxed":           "(banana|boxed)",
		"+banana&~boxed":           "(banana&~boxed)",
		"-a":                       "~a",
		"~-+a":                     "~~a",
		"red-tape":                 "red-tape",
		"-red-tape-":               "~red-tape-",
		"(+a|+b)&(+c|~d)":          "((a|b)&(c|~d))",
		"~(a|b)&c":                 "(~(a|b)&c)",
		"a|b^c&d":                  "(a|(b^(c&d)))",
		"a&b^c|d":                  "(((a&b)^c)|d)",
		"a^b^c":                    "((a^b)^c)",
		"((a))":                    "a",
		`"red tape"|"a&b"`:         "(red tape|a&b)",
		`+" a "`:                   "a",
		"Archived|VISITED":         "(#archived|#visited)",
		`"ping"&email_stats`:       "(#ping&#email_stats)",
		"~protected":               "~#protected",
		">2018-01-01&< 2018-02-28": "(>2018-01-01&<2018-02-28)",
		"+>2020-02-29":             ">2020-02-29",
		"Ünï.cödé_1&\u3000日本":      "(Ünï.cödé_1&日本)",
		strings.Repeat("(", 31) + "a" + strings.Repeat(")", 31): "a",
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if written := write(got.root); written != want {
			t.Errorf("%q is parsed as %s, want %s", text, written, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, place := range map[string]int{
		"":                               1,
		"  ":                             3,
		"+":                              2,
		"a&":                             3,
		"&a":                             1,
		"a b":                            3,
		"a+b":                            2,
		"a~b":                            2,
		"a||b":                           3,
		"(a":                             3,
		"a)":                             2,
		"()":                             2,
		`ü&"b`:                           3,
		`""`:                             1,
		`" "`:                            1,
		`a"b"`:                           2,
		">2018-02-30":                    2,
		">soon":                          2,
		">":                              2,
		">0000-01-01":                    2,
		"<2018-01-01x":                   2,
		"a(b)":                           2,
		"a\x00":                          0,
		"a&\xff":                         1,
		strings.Repeat("a", MaxLength+1): 1,
		strings.Repeat("(", 40) + "a" + strings.Repeat(")", 40): MaxDepth + 1,
		strings.Repeat("~", 4000) + "a":                         MaxDepth + 1,
		strings.Repeat("a&", MaxOperands) + "b":                 2*MaxOperands + 1,
	} {
		_, err := Parse(text)
		if place == 0 && err == nil {
			continue // the NUL is part of an unknown label
		}
		wrong, ok := errors.AsType[*SyntaxError](err)
		if !ok || wrong.Place != place || !strings.Contains(err.Error(), "at character") {
			t.Errorf("%.50q: %v, want place %d", text, err, place)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	expr, err := Parse(`a&~"b c"|a^A&archived&>2020-01-01`)
	if err != nil {
		t.Fatal(err)
	}
	if got := expr.Labels(); !slices.Equal(got, []string{"a", "b c", "A"}) {
		t.Errorf("labels %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"+a&~b", "(+a|+b)&(+c|~d)", `"red tape"^archived,>2018-01-01;<2019-01-01`, "((((", "~~~~", "a b", "\x00", `"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := Parse(text)
		if err != nil {
			wrong, ok := errors.AsType[*SyntaxError](err)
			if !ok || wrong.Place < 1 || wrong.Place > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		// A parsed expression, formatted with all of its brackets, has the same meaning when it is
		// parsed again.
		written := write(expr.root)
		if strings.ContainsAny(text, `"#`) {
			return
		}
		again, err := Parse(strings.ReplaceAll(written, "#", ""))
		if err == nil && write(again.root) != written {
			t.Fatalf("%q is parsed as %s, and that as %s", text, written, write(again.root))
		}
	})
}
