package batch

// Turns lets the items of a batch reserve links in their order, so that the first items get the
// reservations. Item i MUST wait for the channel at i, and MUST close the channel at i+1 once it
// has reserved, or needs no reservation. Nil Turns mean that the items have no order.
type Turns []chan struct{}

// NewTurns returns the turns of a batch. Item 0 has its turn at once.
func NewTurns(items int) Turns {
	t := make(Turns, items+1)
	for i := range t {
		t[i] = make(chan struct{})
	}
	close(t[0])
	return t
}
