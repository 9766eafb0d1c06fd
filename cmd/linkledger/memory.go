package main

import "runtime/debug"

// heapGrowth is by how many percent the heap of a server grows before garbage is collected. What it keeps is little beside
// what goes through it: by Go's default of 100 the collector takes a sixth of its time, and processors that PostgreSQL
// could use.
const heapGrowth = 300

// growHeap has a server collect garbage less often, where GOGC does not say how often.
func (p *process) growHeap() {
	if p.getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
