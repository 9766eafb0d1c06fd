// Package accountadmin opens, changes and shows accounts for operators.
package accountadmin
