package console

import (
	"bytes"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
)

// TestShownText checks that texts that other programs have chosen, such as names of streams and
// types and notes, are escaped so that no terminal executes them.
func TestShownText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"url-x, \"ü\" 漢 \\ a\nb":     "url-x, \"ü\" 漢 \\ a\nb",
		"a\x1b[31mRED\x1b]0;title\a": `a\x1b[31mRED\x1b]0;title\a`,
		"a\u009b2Jb":                 `a\u009b2Jb`,
		"back\rward\b\u202egpj":      `back\rward\b\u202egpj`,
		"a\x00\xff\x7f":              `a\x00\xff\x7f`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	var out bytes.Buffer
	if err := Table(&out, table.Row{"type", "n"}, []table.Row{{"foo\x1b[31m", 7}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "type\tn\n\"foo\\x1b[31m\"\t7\n"; got != want {
		t.Errorf("table %q, want %q", got, want)
	}
}

func TestPrintedLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Table(&out, table.Row{"name", "value"}, []table.Row{
		{"text", `"acl" and "x"`},
		{"number", 5},
		{"nothing", ""},
		{"two lines", "a\nb\tc"},
		{"escape", "\x1b[2J"},
		{"letters", "bücher 書"},
	})
	const want = "name\tvalue\ntext\t\"acl\" and \"x\"\nnumber\t5\nnothing\t\ntwo " +
		"lines\t\"a\\nb\\tc\"\nescape\t\"\\x1b[2J\"\nletters\tbücher 書\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
