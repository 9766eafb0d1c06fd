package peer_test

import (
	"regexp"
	"strconv"
	"sync"
	"testing"

	"linkledger/httpapi/peer"
)

// TestPseudonyms checks that the pseudonym of a value depends on the value and the key alone, whichever values were
// computed before or at the same time.
func TestPseudonyms(t *testing.T) {
	t.Parallel()
	first, second := peer.NewPseudonyms([]byte("the visitor key 1")), peer.NewPseudonyms([]byte("the visitor key 2"))
	of := make(map[string]string) // the values by their pseudonyms
	for i := range 100 {
		value := "192.0.2." + strconv.Itoa(i)
		for name, pseudonym := range map[string]string{"first": first.Of(value), "second": second.Of(value)} {
			if !regexp.MustCompile("^[0-9a-f]{32}$").MatchString(pseudonym) {
				t.Errorf("the pseudonym of %s under the %s key is %q", value, name, pseudonym)
			}
			if other, taken := of[pseudonym]; taken {
				t.Errorf("%s under the %s key has the pseudonym of %s", value, name, other)
			}
			of[pseudonym] = value + " under the " + name + " key"
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 100 {
				value := "192.0.2." + strconv.Itoa(i)
				if got := of[first.Of(value)]; got != value+" under the first key" {
					t.Errorf("%s has another pseudonym again: that of %q", value, got)
				}
			}
		})
	}
	all.Wait()
}
