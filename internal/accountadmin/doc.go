// Package accountadmin opens, changes and shows accounts for operators, with their keys and members
// and the persons who sign in.
package accountadmin
