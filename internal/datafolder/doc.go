// Package datafolder has the files that linkledger dev keeps in its data folder beside its
// backends: the password and the certificate of its event store, its master key, and the connection
// strings for operator commands.
package datafolder
