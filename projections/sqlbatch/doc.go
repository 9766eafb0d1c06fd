// Package sqlbatch sends statements and copied rows to PostgreSQL in one round trip, with one array
// for each column.
package sqlbatch
