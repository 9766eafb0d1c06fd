// Package startup opens what a service rests on: it waits for the database and the event store,
// checks that they belong together, and opens the keys. It MUST NOT serve anything.
package startup
