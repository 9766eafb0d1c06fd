package commands

import (
	"fmt"
	"testing"
)

// BenchmarkCreate creates links one after the other. A chosen hash takes two appends, a generated
// one takes one.
func BenchmarkCreate(b *testing.B) {
	for _, chosen := range []bool{true, false} {
		b.Run(fmt.Sprintf("chosen=%t", chosen), func(b *testing.B) {
			s, made := newStack(b), 0
			for b.Loop() {
				item := CreateURL{LongURL: "https://example.com/"}
				if chosen {
					item.CustomHash = fmt.Sprint("chosen", made)
				}
				made++
				if err := s.CreateURLs(b.Context(), request("a"), []CreateURL{item}).Items[0].Err; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
