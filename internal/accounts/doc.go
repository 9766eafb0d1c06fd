// Package accounts opens, changes and shows accounts for operators.
package accounts
