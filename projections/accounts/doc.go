// Package accounts is the projection of the accounts.
package accounts
