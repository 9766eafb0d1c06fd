// Package commandstest has what the tests of commands share.
package commandstest

import (
	"sync"
	"time"

	"linkledger/events"
)

// At is a time for tests.
var At = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Ptr returns a pointer to a value.
func Ptr[T any](v T) *T { return &v }

// Together runs n functions at once and waits for all.
func Together(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// Created is the creation of a link.
func Created() events.URLCreated {
	return events.URLCreated{
		URLID: "u", Account: "a", Hash: "spring", ClaimRevision: 3, LongURL: "https://example.com", Note: "n",
		ExpirationDate: "2027-01-31", Tags: []string{"t1"}, At: At,
	}
}
