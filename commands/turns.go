package commands

// turns lets the items of a batch ask for room in their order: the first ones get it. A nil one has no order.
type turns []chan struct{} // the one at an index is closed when all items before it have asked, or need no room

func newTurns(items int) turns {
	t := make(turns, items+1)
	for i := range t {
		t[i] = make(chan struct{})
	}
	close(t[0])
	return t
}
