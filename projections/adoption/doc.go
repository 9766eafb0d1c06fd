// Package adoption lets only one PostgreSQL database serve at a time. An event in the log says
// which database was adopted last. If a standby of that database is promoted, it is adopted in
// turn. A former primary that comes back, a copy, and any other database whose read models contain
// events are refused.
package adoption
