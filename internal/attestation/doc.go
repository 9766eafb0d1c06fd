// Package attestation has the operator commands that sign the head of the log, prove events against
// signed heads, and find where the log or its tree was altered.
package attestation
