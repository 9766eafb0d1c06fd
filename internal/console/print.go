package console

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Console is where a command prints, and what it logs to.
type Console struct {
	Stdout io.Writer
	Stderr io.Writer
	Logger *slog.Logger
}

// JSON prints a value for scripts.
func JSON(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }

// Table prints a table for people, or plain lines with tabs where nobody is at the terminal.
func Table(w io.Writer, header table.Row, rows []table.Row) error {
	if !IsTerminal(w) {
		return printLines(w, append([]table.Row{header}, rows...))
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(header)
	for _, row := range rows {
		t.AppendRow(escapeRow(row))
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// printLines prints rows with tabs between their cells, which stand as they are: quotes in a cell
// are part of it.
func printLines(w io.Writer, rows []table.Row) error {
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				text.WriteByte('\t')
			}
			text.WriteString(Printable(fmt.Sprint(cell)))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// escapeRow returns a row as it can be shown on a terminal.
func escapeRow(row table.Row) table.Row {
	shown := slices.Clone(row)
	for i, cell := range shown {
		if text, ok := cell.(string); ok {
			shown[i] = Escape(text)
		}
	}
	return shown
}

// Escape returns a text as it can be shown on a terminal: characters that might move its cursor,
// change its colours or turn its direction stand as they are written in a program. Ends of lines
// and tabs stay.
func Escape(text string) string {
	hidden := func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\n' && r != '\t' && !unicode.IsPrint(r)
	}
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var shown strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if hidden(r) {
			shown.WriteString(strings.Trim(strconv.QuoteToASCII(text[:size]), `"`))
		} else {
			shown.WriteString(text[:size])
		}
		text = text[size:]
	}
	return shown.String()
}

// Printable returns a text of the event store as it can be shown on a terminal: in quotes where it
// has more than plain characters.
func Printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar ||
			!unicode.IsPrint(r)
	}) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// IsTerminal tells whether somebody reads along.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Time returns a time as tables show it, in UTC; empty for no time.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000")
}

// Pairs prints a value as JSON or as a table with one line per row.
func Pairs(w io.Writer, asJSON bool, value any, rows [][2]any) error {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintf(lines, "%v\t%v\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return lines.Flush()
}
