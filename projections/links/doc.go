// Package links is the projection of the links, their texts, sets, batches and counters.
package links
