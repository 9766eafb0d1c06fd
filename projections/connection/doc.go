// Package connection makes the connections to PostgreSQL, directly or through a pooler: their pools
// and their settings. It also knows which errors pass by themselves, how long the queries of a
// request take, whether the database answers, and whether its disk takes writes.
package connection
