// Package status reports the state of projections: the state that this process knows, and the state
// that the database and the log show.
package status
