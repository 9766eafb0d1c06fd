package proof

import (
	"errors"
	"testing"
)

// TestPublicKey checks that the public half of a private key is the one that was made with it. The keys are random,
// because their text may have any character of base64.
func TestPublicKey(t *testing.T) {
	t.Parallel()
	for range 100 {
		private, want, err := NewKey("sho.rt")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := PublicKey(private); got != want || err != nil {
			t.Errorf("the public half of %s is %s, %v; want %s", private, got, err, want)
		}
		for _, wrong := range []string{want, private[:len(private)-4], "", "PRIVATE+KEY+sho.rt+00000000+"} {
			if got, err := PublicKey(wrong); !errors.Is(err, ErrNoKey) {
				t.Errorf("the public half of %q is %q, %v", wrong, got, err)
			}
		}
	}
}
