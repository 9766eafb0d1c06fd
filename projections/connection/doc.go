// Package connection makes the connections to PostgreSQL: their pools and settings, also behind a
// pooler, which errors pass by themselves, how long the queries of a request take, whether the
// database answers, and whether its disk takes writes.
package connection
