package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

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

// isTerminal tells whether somebody reads along.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
