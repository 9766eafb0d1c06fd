package console

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Console has the outputs of a command. New makes one.
type Console struct {
	Stdout io.Writer
	Stderr io.Writer
	Logger *slog.Logger
	// Lost returns how many lines could not be written. It is nil for a command that ends when a
	// line cannot be written.
	Lost func() uint64
}

// New returns the outputs of a command. Both escape texts, so that no text of a user or of another
// program controls a terminal.
func New(stdout, stderr io.Writer) Console {
	return Console{Stdout: NewOutput(stdout), Stderr: NewOutput(stderr)}
}

// JSON prints a value as one line of JSON.
func JSON(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }

// Printf prints as fmt.Fprintf does. It escapes the texts among the arguments, so that none of them
// begins a line.
func Printf(w io.Writer, format string, args ...any) error {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = shownValue(arg)
	}
	_, err := fmt.Fprintf(w, format, shown...)
	return err
}

// shownValue returns a value with its text escaped. Numbers stay numbers.
func shownValue(value any) any {
	switch v := value.(type) {
	case error:
		return Escape(v.Error())
	case fmt.Stringer:
		return Escape(v.String())
	}
	switch kind := reflect.ValueOf(value).Kind(); {
	case kind == reflect.Bool, reflect.Int <= kind && kind <= reflect.Float64:
		return value
	}
	return Escape(fmt.Sprint(value))
}

// Row is a row of a table. In a drawn table, a cell that is a []string has a line for each text.
type Row []any

// Table prints a table on a terminal, and lines with tabs between cells elsewhere.
func Table(w io.Writer, header Row, rows []Row) error {
	if IsTerminal(w) {
		return Drawn(w, header, rows)
	}
	var text strings.Builder
	for _, row := range append([]Row{header}, rows...) {
		for i, cell := range row {
			if i > 0 {
				text.WriteByte('\t')
			}
			fmt.Fprint(&text, shownCell(cell, "; "))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Drawn prints a table with borders, on a terminal or not. If header is nil, the table has no
// header.
func Drawn(w io.Writer, header Row, rows []Row) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	if header != nil {
		t.AppendHeader(shownRow(header))
	}
	for _, row := range rows {
		t.AppendRow(shownRow(row))
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// shownRow returns the cells of a row that is drawn.
func shownRow(row Row) table.Row {
	shown := make(table.Row, len(row))
	for i, cell := range row {
		shown[i] = shownCell(cell, "\n")
	}
	return shown
}

// shownCell returns a cell with its texts escaped. The separator joins the texts of a list.
func shownCell(cell any, separator string) any {
	list, ok := cell.([]string)
	if !ok {
		return shownValue(cell)
	}
	shown := make([]string, len(list))
	for i, text := range list {
		shown[i] = Escape(text)
	}
	return strings.Join(shown, separator)
}

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := fileOf(w).(*os.File)
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
		if err := Printf(lines, "%v\t%v\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return lines.Flush()
}

// List prints a list as a table, or as one line of JSON.
func List(w io.Writer, asJSON bool, list any, header Row, rows []Row) error {
	if asJSON {
		return JSON(w, list)
	}
	return Table(w, header, rows)
}
