// Package activity is the projection of the calls that have changed something, with the caller,
// time, API key and changes of each call.
package activity
