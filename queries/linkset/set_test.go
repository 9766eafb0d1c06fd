package linkset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfDistinct(rapid.IntRange(0, 300), rapid.ID[int])
		in, out := numbers.Draw(t, "in"), numbers.Draw(t, "out")
		set := Of(in)
		if set.Count() != len(in) {
			t.Fatalf("%v: %d links", in, set.Count())
		}
		rest := slices.DeleteFunc(slices.Clone(in), func(n int) bool { return slices.Contains(out, n) })
		slices.Sort(rest)
		set = set.Minus(Of(out))
		for n := range 400 {
			if set.Has(n) != slices.Contains(rest, n) {
				t.Fatalf("%v has %d: %t", rest, n, set.Has(n))
			}
		}
		offset, limit := rapid.IntRange(0, 100).Draw(t, "offset"), rapid.IntRange(0, 100).Draw(t, "limit")
		want := func() []int { return rest[min(offset, len(rest)):min(offset+limit, len(rest))] }
		if got := set.Numbers(offset, limit, true); !slices.Equal(got, want()) {
			t.Fatalf("%v from %d: %v, want %v", rest, offset, got, want())
		}
		slices.Reverse(rest)
		if got := set.Numbers(offset, limit, false); !slices.Equal(got, want()) {
			t.Fatalf("%v from %d: %v, want %v", rest, offset, got, want())
		}
	})
}
