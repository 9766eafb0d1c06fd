// Package httpserver serves HTTP with limits of time and size. When it is stopped, it lets the
// requests in flight finish.
package httpserver
