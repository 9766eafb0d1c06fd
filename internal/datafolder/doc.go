// Package datafolder has what linkledger dev keeps in its data folder beside its backends: the
// password and the certificate of its event store, its master key, and how operator commands reach
// it.
package datafolder
