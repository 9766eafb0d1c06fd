// Package sessionadmin has the operator commands on sessions of the console: they make one-time
// links that sign a browser in, and list and end sessions. It MUST NOT change the log.
package sessionadmin
