package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"linkledger/events"
)

// TestIsStream checks that IsStream accepts every stream that this package defines, because the
// audit checks only those streams.
func TestIsStream(t *testing.T) {
	t.Parallel()
	prefixes := streamConstants(t)
	if len(prefixes) < 11 {
		t.Errorf("the package names %d kinds of streams: %q", len(prefixes), prefixes)
	}
	for _, prefix := range prefixes {
		if !events.IsStream(prefix + "x") {
			t.Errorf("%sx is not accepted as a stream of Linkledger", prefix)
		}
	}
	for _, foreign := range []string{"", "x", "$$url-x", "orders-x", "Url-x"} {
		if events.IsStream(foreign) {
			t.Errorf("%q is accepted as a stream of Linkledger", foreign)
		}
	}
}

// streamConstants returns the values of the constants of this package whose names begin with
// Stream.
func streamConstants(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, "Stream") {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a literal", spec.Names[0].Name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
			return true
		})
	}
	return values
}
