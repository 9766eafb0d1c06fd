// Package attestation signs the head of the log, proves events against signed heads, and finds
// where the log or its tree was altered.
package attestation
