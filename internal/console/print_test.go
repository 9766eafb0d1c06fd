package console

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// hostile are texts of others that would control a terminal, and what is shown instead.
var hostile = map[string]string{
	"a\x1b[31mRED\x1b]0;title\a": `a\u001b[31mRED\u001b]0;title\u0007`,
	"a\u009b2Jb\x7f\u0085":       `a\u009b2Jb\u007f\u0085`,
	"back\rward\b\u202egpj":      `back\rward\u0008\u202egpj`,
	"a\x00\xff":                  `a\u0000\ufffd`,
	"cut \xe2\x82":               `cut \ufffd\ufffd`,
	"a\u2028b\u2029c":            `a\u2028b\u2029c`,
	"\ufeff\u200e\u200f\u061c":   `\ufeff\u200e\u200f\u061c`,
	"\u202a\u202d\u2066\u2069":   `\u202a\u202d\u2066\u2069`,
	"two\nlines\tand a tab":      `two\nlines\tand a tab`,
}

// harmless are texts that are shown unchanged.
var harmless = []string{
	"", "url-x, \"ü\" 漢 \\ a", `"acl" and \u001b`, "👩\u200d👩\u200d👧", "e\u0301", "\U0001f3f4\U000e0067\U000e007f",
	"नम\u200cस्ते", "\u00a0", "\ufffd",
}

// TestShownText checks that texts that others have chosen, such as names of keys and streams and
// notes, are escaped so that no terminal executes them, and that other texts stay.
func TestShownText(t *testing.T) {
	t.Parallel()
	for text, want := range hostile {
		if got := Escape(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	for _, text := range harmless {
		if got := Escape(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

func TestPrintedLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Table(&out, Row{"name", "value"}, []Row{
		{"text", `"acl" and "x"`},
		{"number", 5},
		{"nothing", ""},
		{"list", []string{"a\x1bb", "c"}},
		{"two lines", "a\nb\tc"},
		{"escape", errors.New("\x1b[2J")},
		{"letters", "bücher 書"},
	})
	const want = "name\tvalue\ntext\t\"acl\" and \"x\"\nnumber\t5\nnothing\t\nlist\ta\\u001bb; c\ntwo " +
		"lines\ta\\nb\\tc\nescape\t\\u001b[2J\nletters\tbücher 書\n"
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestDrawnTablesAlign checks that the lines of a drawn table are equally wide with any text in its cells, and that
// only a list makes lines.
func TestDrawnTablesAlign(t *testing.T) {
	t.Parallel()
	rows := []Row{{"list", []string{"one", "two\nthree"}}}
	for text := range hostile {
		rows = append(rows, Row{"name", text})
	}
	var out bytes.Buffer
	if err := Drawn(&out, Row{"field", "value"}, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if want := len(rows) + 1 + 4; len(lines) != want { // header and borders; the list has two
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[0]) {
			t.Errorf("lines differ in width:\n%s", out.String())
			break
		}
	}
}

// TestPrintfEscapesItsArguments checks that no argument begins a line.
func TestPrintfEscapesItsArguments(t *testing.T) {
	t.Parallel()
	type named string
	var out bytes.Buffer
	err := Printf(&out, "%d of %s: %s, %v\n", 5, named("a\nb"), errors.New("\x1b"), slog.StringValue("\r"))
	if want := "5 of a\\nb: \\u001b, \\r\n"; err != nil || out.String() != want {
		t.Errorf("printed %q, %v; want %q", out.String(), err, want)
	}
}

// TestErrorsHaveTheirOwnLines checks that only errors that were joined have several lines.
func TestErrorsHaveTheirOwnLines(t *testing.T) {
	t.Parallel()
	first := fmt.Errorf("open a\nb: %w", errors.New("no\x1b"))
	joined := fmt.Errorf("2 of\n3 failed: %w", errors.Join(first, errors.New("c\nd")))
	for want, err := range map[string]error{
		`open a\nb: no\u001b`: first,
		`2 of\n3 failed: open a\nb: no\u001b` + "\n" + `c\nd`: joined,
		`a\nb and c\nd`: fmt.Errorf("%w and %w", errors.New("a\nb"), errors.New("c\nd")),
	} {
		if got := Error(err); got != want {
			t.Errorf("%q is shown as %q, want %q", err, got, want)
		}
	}
}

// TestOutputEscapesWhateverIsWritten checks that an Output escapes texts in any pieces, and keeps
// the breaks of lines and cells.
func TestOutputEscapesWhateverIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.String(), rapid.SampledFrom(harmless), rapid.Custom(func(t *rapid.T) string {
				return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
			}),
		).Draw(t, "text") + "\n"
		var want strings.Builder
		for _, part := range strings.SplitAfter(text, "\n") {
			cells := strings.Split(strings.TrimSuffix(part, "\n"), "\t")
			for i, cell := range cells {
				cells[i] = Escape(cell)
			}
			want.WriteString(strings.Join(cells, "\t"))
			if strings.HasSuffix(part, "\n") {
				want.WriteByte('\n')
			}
		}
		var out bytes.Buffer
		w := NewOutput(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if written, err := w.Write([]byte(rest[:n])); err != nil || written != n {
				t.Fatalf("wrote %d of %d: %v", written, n, err)
			}
			rest = rest[n:]
		}
		if out.String() != want.String() {
			t.Errorf("%q became %q, want %q", text, out.String(), want.String())
		}
	})
}

// TestEscapedJSONIsTheSameJSON checks that JSON and JSON logs that pass an Output have no character
// that controls a terminal, and are the same when they are read.
func TestEscapedJSONIsTheSameJSON(t *testing.T) {
	t.Parallel()
	for text := range hostile {
		var plain, shown bytes.Buffer
		value := map[string]any{"name": text, "raw": json.RawMessage(`"` + "\u009b\u202e\x7f" + `"`)}
		if err := errors.Join(JSON(&plain, value), JSON(NewOutput(&shown), value)); err != nil {
			t.Fatal(err)
		}
		NewLogger(NewOutput(&shown), "json", slog.LevelInfo).Info("said", slog.String("name", text))
		isShown(t, shown.String())
		lines := json.NewDecoder(&shown)
		var want, got, log map[string]any
		if err := errors.Join(json.Unmarshal(plain.Bytes(), &want), lines.Decode(&got), lines.Decode(&log)); err != nil {
			t.Fatal(err)
		}
		if got["name"] != want["name"] || got["raw"] != want["raw"] || log["name"] != want["name"] {
			t.Errorf("%q is read as %q and %q, without escapes as %q", text, got, log, want)
		}
	}
}

// TestLogsAreEscaped checks the log for people.
func TestLogsAreEscaped(t *testing.T) {
	t.Parallel()
	for text := range hostile {
		var out bytes.Buffer
		NewLogger(NewOutput(&out), "text", slog.LevelInfo).Info("said", slog.String("name", text))
		isShown(t, out.String())
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q is logged on several lines: %s", text, out.String())
		}
	}
}

// TestExactBytes checks that exact data reaches a file unchanged.
func TestExactBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := csv.NewWriter(Exact(NewOutput(&out)))
	_ = lines.Write([]string{"\u202e"})
	lines.Flush()
	if out.String() != "\u202e\n" {
		t.Errorf("wrote %q", out.String())
	}
}

// isShown checks that a text has no character that controls a terminal except line breaks.
func isShown(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || strings.ContainsRune(
			"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff", r,
		)
	}) {
		t.Errorf("a terminal would execute %q", text)
	}
}
