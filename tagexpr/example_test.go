package tagexpr_test

import (
	"fmt"
	"slices"

	"linkledger/tagexpr"
)

// A link with the tags news and "summer sale", which is not archived.
var link = tagexpr.Subject{
	Has:  func(label string) bool { return slices.Contains([]string{"news", "summer sale"}, label) },
	Flag: func(string) bool { return false },
}

func ExampleParse() {
	for _, text := range []string{`news & "summer sale"`, `news & ~archived`, `draft | visited`, `news &`} {
		expr, err := tagexpr.Parse(text)
		if err != nil {
			fmt.Println(text, "is refused")
			continue
		}
		fmt.Println(text, expr.Matches(link))
	}
	// Output:
	// news & "summer sale" true
	// news & ~archived true
	// draft | visited false
	// news & is refused
}

// A caller who may see the links of one tag only asks for another.
func ExampleAnd() {
	bound, _ := tagexpr.Parse("team")
	wanted, _ := tagexpr.Parse("news")
	fmt.Println(tagexpr.And(bound, wanted).Matches(link), tagexpr.And(nil, wanted).Matches(link))
	// Output: false true
}
