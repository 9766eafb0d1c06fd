package batch

// Turns lets the items of a batch reserve places in their order, so that the first items get them.
// Item i waits for the channel at i, and closes the channel at i+1 when it has reserved, or needs
// no place. Nil Turns have no order.
type Turns []chan struct{}

// NewTurns returns the turns of a batch. It is the turn of item 0.
func NewTurns(items int) Turns {
	t := make(Turns, items+1)
	for i := range t {
		t[i] = make(chan struct{})
	}
	close(t[0])
	return t
}
