// Package httpserver serves HTTP within limits of time and size until it is stopped, and lets the
// requests in flight finish.
package httpserver
