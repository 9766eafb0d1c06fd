// Package datafolder has the files that linkledger dev keeps in its data folder beside its
// backends: the password and the certificate of its event store, its master key, the connection
// strings for operator commands, and whether its read models are being built.
package datafolder
