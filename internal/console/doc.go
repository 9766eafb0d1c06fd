// Package console prints what commands answer, as tables, lines or JSON, and shows how far they
// are. What other programs have chosen the text of cannot command a terminal.
package console
