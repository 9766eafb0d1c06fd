// Package sqlbatch sends statements to PostgreSQL in one round trip, with one array for each
// column, and copies rows in binary format. It MUST NOT contain statements of a projection.
package sqlbatch
