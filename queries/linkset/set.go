// Package linkset has sets of an account's links: as bits in memory, and as queries of the sets in
// the read models.
package linkset

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Set is a set of an account's links by number. Bit n stands for link n; the highest bit of a byte
// comes first.
type Set []byte

const wordBits = 64

// words returns the number of words.
func (s Set) words() int { return len(s) * 8 / wordBits }

func (s Set) word(i int) uint64 { return binary.BigEndian.Uint64(s[i*wordBits/8:]) }

// Count returns the number of links in the set.
func (s Set) Count() int {
	n := 0
	for i := range s.words() {
		n += bits.OnesCount64(s.word(i))
	}
	return n
}

// Has reports whether a link is in the set.
func (s Set) Has(number int) bool {
	return number/8 < len(s) && s[number/8]&(0x80>>(number%8)) != 0
}

// Minus returns the set without the links of another set.
func (s Set) Minus(other Set) Set {
	rest := make(Set, len(s))
	for i := range s {
		if rest[i] = s[i]; i < len(other) {
			rest[i] &^= other[i]
		}
	}
	return rest
}

// Numbers skips offset links of the set and returns the next ones, at most limit: downwards from
// the highest number, or upwards from the lowest.
func (s Set) Numbers(offset, limit int, upwards bool) []int {
	var found []int
	for i := 0; i < s.words() && len(found) < limit; i++ {
		at := s.words() - 1 - i
		if upwards {
			at = i
		}
		word := s.word(at)
		if n := bits.OnesCount64(word); n <= offset {
			offset -= n
			continue
		}
		for ; word != 0 && len(found) < limit; offset-- {
			bit := wordBits - 1 - bits.TrailingZeros64(word) // the lowest bit is the highest number
			if upwards {
				bit = bits.LeadingZeros64(word)
			}
			word &^= 1 << (wordBits - 1 - bit)
			if offset <= 0 {
				found = append(found, at*wordBits+bit)
			}
		}
		offset = 0
	}
	return found
}

// Sample returns n links of the set, evenly spread. The set MUST have at least n.
func (s Set) Sample(n int) []int {
	step, passed := s.Count()/n, 0
	chosen := make([]int, 0, n)
	for at := range s.words() {
		count := bits.OnesCount64(s.word(at))
		for len(chosen) < n && len(chosen)*step < passed+count {
			here := s[at*wordBits/8:].Numbers(len(chosen)*step-passed, 1, true)
			chosen = append(chosen, at*wordBits+here[0])
		}
		passed += count
	}
	return chosen
}

// Restrict restricts a query to the links of the set. It looks up each link if there are few.
// Otherwise it checks the bit of each link of the query.
func (s Set) Restrict(links *bun.SelectQuery, few bool) *bun.SelectQuery {
	if few {
		return links.Where(
			"link.number = ANY(?::integer[])", pgdialect.Array(s.Numbers(0, math.MaxInt, true)),
		)
	}
	return links.Where(
		"link.number < ? AND get_bit(?::varbit, link.number) > 0", len(s)*8,
		"x"+hex.EncodeToString(s),
	)
}

// Of returns the set of the links with the numbers.
func Of(numbers []int) Set {
	var s Set
	for _, n := range numbers {
		s = s.grown(n/wordBits + 1)
		s[n/8] |= 0x80 >> (n % 8)
	}
	return s
}

// grown returns the set with at least that many words.
func (s Set) grown(words int) Set {
	if missing := words*wordBits/8 - len(s); missing > 0 {
		s = append(s, make(Set, missing)...)
	}
	return s
}
