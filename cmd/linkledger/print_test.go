package main

import (
	"bytes"
	"testing"

	"github.com/jedib0t/go-pretty/v6/table"
)

func TestPrintedLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printTable(&out, table.Row{"name", "value"}, []table.Row{
		{"text", `"acl" and "x"`}, {"number", 5}, {"nothing", ""}, {"two lines", "a\nb\tc"}, {"escape", "\x1b[2J"}, {"letters", "bücher 書"},
	})
	const want = "name\tvalue\ntext\t\"acl\" and \"x\"\nnumber\t5\nnothing\t\ntwo lines\t\"a\\nb\\tc\"\nescape\t\"\\x1b[2J\"\nletters\tbücher 書\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}
