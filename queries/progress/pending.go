package progress

import "container/heap"

// pending is a call that waits until a projection has reached a commit position.
type pending struct {
	position uint64
	reached  chan struct{} // closed when the position is reached
	index    int           // in the heap; -1 if removed
}

// pendingHeap is a heap of waiting calls, the lowest position first.
type pendingHeap []*pending

var _ heap.Interface = (*pendingHeap)(nil)

func (h pendingHeap) Len() int           { return len(h) }
func (h pendingHeap) Less(i, j int) bool { return h[i].position < h[j].position }

func (h pendingHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *pendingHeap) Push(x any) {
	added := x.(*pending) //nolint:forcetypeassert // nothing else is pushed
	added.index = len(*h)
	*h = append(*h, added)
}

// Pop implements heap.Interface.
func (h *pendingHeap) Pop() any {
	last := len(*h) - 1
	removed := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	removed.index = -1
	return removed
}
