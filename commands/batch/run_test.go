package batch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	const n = 500
	var mu sync.Mutex
	orders := make(map[string][]int)
	keys := func(i int) []string {
		return []string{fmt.Sprint("third ", i%3), fmt.Sprint("fifth ", i%5), fmt.Sprint("fifth ", i%5)}
	}
	Run(n, keys, func(i int) {
		mu.Lock()
		defer mu.Unlock()
		for _, key := range keys(i)[:2] {
			orders[key] = append(orders[key], i)
		}
	})
	for key, order := range orders {
		if !slices.IsSorted(order) {
			t.Errorf("%s: %v", key, order)
		}
	}
	if len(orders) != 8 {
		t.Errorf("%d keys", len(orders))
	}
}
