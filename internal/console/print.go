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

// Console has the outputs of a command.
type Console struct {
	Stdout io.Writer
	Stderr io.Writer
	Logger *slog.Logger
}

// JSON prints a value as one line of JSON.
func JSON(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }

// Table prints a table on a terminal, and lines with tabs between cells elsewhere.
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

// printLines prints rows with tabs between their cells. It does not quote plain cells: quotes in a
// cell are part of its text.
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

// escapeRow returns a row with its texts escaped for a terminal.
func escapeRow(row table.Row) table.Row {
	shown := slices.Clone(row)
	for i, cell := range shown {
		if text, ok := cell.(string); ok {
			shown[i] = Escape(text)
		}
	}
	return shown
}

// Escape returns a text that is safe on a terminal. Characters that could move the cursor, change
// colours or turn the direction of text become Go escapes. Line breaks and tabs stay.
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

// Printable returns a text of the event store that is safe on a terminal. It is quoted if it has
// characters that cannot be printed.
func Printable(text string) string {
	unprintable := func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r)
	}
	if strings.ContainsFunc(text, unprintable) {
		return strconv.QuoteToASCII(text)
	}
	return text
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Time returns a time as tables show it, in UTC. It is empty for the zero time.
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
