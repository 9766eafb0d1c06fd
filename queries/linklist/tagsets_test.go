package linklist

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/tagexpr"
)

func FuzzSetsOf(f *testing.F) {
	for _, seed := range []string{"+a&~b", "(+a|+b)&(+c|~d)", `"red tape"^archived,>2018-01-01;<2019-01-01`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		expr, err := tagexpr.Parse(text)
		if err != nil {
			return
		}
		bits, rows := setsOf(expr, func(string) uuid.UUID { return uuid.Nil })
		if strings.Count(bits.SQL, "?") != len(bits.Args) || strings.Count(bits.SQL, "(") != strings.Count(bits.SQL, ")") ||
			strings.Count(rows.SQL, "?") != len(rows.Args) {
			t.Fatalf("%q: %d and %d arguments for %s of %s", text, len(bits.Args), len(rows.Args), bits.SQL, rows.SQL)
		}
	})
}
