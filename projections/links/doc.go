// Package links is the projection of the links, their search texts, sets, batches and counters.
package links
