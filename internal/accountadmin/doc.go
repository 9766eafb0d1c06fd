// Package accountadmin opens, changes and shows accounts for operators, with their keys and
// members, the persons who sign in, and links that sign a browser in.
package accountadmin
