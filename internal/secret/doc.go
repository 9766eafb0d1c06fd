// Package secret has the types of passwords, keys and connection strings. They hide their secrets
// when they are printed or logged.
package secret
