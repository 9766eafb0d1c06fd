// Package activity is the projection of the calls that have changed something: who made each of
// them, when, by which key, and what it changed.
package activity
