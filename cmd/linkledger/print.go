package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
)

// printJSON prints a value for scripts.
func printJSON(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }

// printTable prints a table for people, or plain lines with tabs where nobody is at the terminal.
func printTable(w io.Writer, header table.Row, rows []table.Row) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	t.AppendRows(rows)
	text := t.RenderTSV
	if isTerminal(w) {
		text = t.Render
	}
	_, err := fmt.Fprintln(w, text())
	return err
}

// printable returns a text of the event store as it can be shown on a terminal: in quotes where it has more than plain characters.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// isTerminal tells whether somebody reads along.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
