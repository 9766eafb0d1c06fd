// Package logtest makes logs for tests of projections: event by event, or drawn at random together
// with the rows that the read models must have.
package logtest
