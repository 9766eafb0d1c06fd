// Package accounts is the projection of the accounts, their keys and members, and of the persons
// who sign in.
package accounts
