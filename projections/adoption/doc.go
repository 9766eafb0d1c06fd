// Package adoption lets one database of PostgreSQL serve, and no other one. The log is the arbiter:
// an event there says which database was adopted last. A former primary that comes back, a copy and
// another database are refused, and a promoted standby of the adopted database is adopted.
package adoption
