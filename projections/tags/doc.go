// Package tags is the projection of the tags of accounts.
package tags
