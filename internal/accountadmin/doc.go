// Package accountadmin has the operator commands on accounts, on their keys and members, and on the
// persons who sign in.
package accountadmin
