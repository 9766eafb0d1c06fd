// Package secret has the types of passwords, keys and connection strings. They hide what is secret
// wherever they are printed or logged.
package secret
