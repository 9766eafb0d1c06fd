// Command linkledger is a URL shortener whose database is its history. See README.md.
package main
