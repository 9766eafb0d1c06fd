// Package words translates the names and values of the API and the program for people. Pages of
// both consoles use it, so that none shows a field, a scope or a duration as programs write it. It
// makes no calls and knows no page.
package words
