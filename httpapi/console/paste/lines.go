package paste

// This file reads pasted lines and tables, which may be exports of other services.

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/links"
	"linkledger/httpapi/console/tags"
)

// manyLine is a line of a paste, with the link that is made of it or the reason why none is made.
type manyLine struct {
	Number  int    // from 1
	Text    string // as it was pasted
	LongURL string
	Hash    string // empty: it is generated
	Tags    []string
	Note    string
	Date    string // the last day
	Remark  string // the parts of the line that are left out
	Reason  string // why no link is made; empty: a link can be made
	Path    string // of the page of the link, once it is made
	Short   string // the short link, once it is made
}

// item returns the line as an item of a call.
func (l manyLine) item() map[string]any {
	item := map[string]any{"long_url": l.LongURL}
	if l.Hash != "" {
		item["custom_hash"] = l.Hash
	}
	if len(l.Tags) > 0 {
		item["tags"] = l.Tags
	}
	if l.Note != "" {
		item["note"] = l.Note
	}
	if l.Date != "" {
		item["expiration_date"] = l.Date
	}
	return item
}

// columnNames maps the names that columns have in exports of this and other services to columns.
// The names are in lower case and have only letters.
var columnNames = map[string]string{
	"longurl": columnURL, "url": columnURL, "destination": columnURL, "destinationurl": columnURL,
	"originalurl": columnURL, "target": columnURL, "address": columnURL,
	"customhash": columnHash, "hash": columnHash, "shortid": columnHash, "shortcode": columnHash,
	"slashtag": columnHash, "keyword": columnHash, "key": columnHash, "slug": columnHash,
	"shorturl": columnShort, "shortlink": columnShort, "link": columnShort,
	"tags": columnTags, "tag": columnTags, "labels": columnTags,
	"note": columnNote, "notes": columnNote, "title": columnNote, "description": columnNote,
	"expirationdate": columnDate, "lastday": columnDate,
}

// The columns of a paste.
const (
	columnURL   = "destination"
	columnHash  = "hash"
	columnShort = "short link" // the hash is taken from its path
	columnTags  = "tags"
	columnNote  = "note"
	columnDate  = "last day"
)

// inOrder are the columns of a paste whose first line does not name them.
var inOrder = []string{columnURL, columnHash, columnTags, columnNote}

// table is how the lines of a paste are read.
type table struct {
	delimiter rune // 0: it is found for each line
	columns   []string
	ignored   []string // names of columns that no link has
}

// readPaste reads the lines of a paste. If the first line names the columns, its delimiter is that
// of all lines: a comma, a semicolon or a tab. If not, the delimiter of each line is found. Then a
// line that has no blanks, and does not begin with a quotation mark, is one address. A line that
// cannot be read gets a Reason.
func readPaste(text string) (lines []manyLine, of table, err error) {
	text = strings.TrimPrefix(text, "\ufeff")
	rows := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	named := false
	for at := 0; at < len(rows); {
		number := at + 1
		if strings.TrimSpace(rows[at]) == "" {
			at++
			continue
		}
		if !named && len(lines) == 0 {
			if of, named = readNames(rows[at]); named {
				at++
				continue
			}
			of.columns = inOrder
		}
		fields, used, readErr := of.read(rows[at:])
		line := manyLine{Number: number, Text: strings.Join(rows[at:at+used], "\n")}
		at += used
		if readErr != nil {
			line.Reason = "A quotation mark is not closed, or stands where none can"
		} else {
			of.fill(&line, fields)
		}
		if len(lines) == maxLines {
			return nil, of, badPaste(fmt.Sprintf("There are more than %d lines", maxLines))
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, of, badPaste("There is no line")
	}
	return lines, of, nil
}

func badPaste(why string) error {
	return &apierror.Error{Code: apierror.CodeWrongInput, Details: why}
}

// readNames reads a line with the names of columns. It tries each delimiter, and takes the one with
// which it knows the most names. It returns false if no column is the destination.
func readNames(line string) (of table, named bool) {
	best := 0
	for _, delimiter := range ",;\t" {
		fields, err := readFields(line, delimiter)
		if err != nil {
			continue
		}
		found := table{delimiter: delimiter}
		known := 0
		for _, field := range fields {
			column := columnNames[letters(field)]
			if column == "" {
				found.ignored = append(found.ignored, strings.TrimSpace(field))
			} else {
				known++
			}
			found.columns = append(found.columns, column)
		}
		if slices.Contains(found.columns, columnURL) && known > best {
			best, of = known, found
		}
	}
	return of, best > 0
}

// letters returns the letters of a name in lower case.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 'a' || r > 'z' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// maxQuoted bounds the line breaks within the quotes of one line.
const maxQuoted = 20

// read reads the fields of the first row. The row continues in the next rows while a quotation mark
// is open. used is the number of rows that it takes.
func (t table) read(rows []string) (fields []string, used int, err error) {
	delimiter := t.delimiter
	if delimiter == 0 {
		first := strings.TrimSpace(rows[0])
		if !strings.ContainsAny(first, " \t") && first[0] != '"' {
			return []string{first}, 1, nil
		}
		delimiter = delimiterOf(rows[0])
	}
	text := rows[0]
	for used = 1; ; used++ {
		if fields, err = readFields(text, delimiter); err == nil {
			return fields, used, nil
		}
		if used >= len(rows) || used > maxQuoted || strings.Count(text, `"`)%2 == 0 {
			return nil, 1, err
		}
		text += "\n" + rows[used]
	}
}

var afterAddress = regexp.MustCompile(`^\s*(?:"(?:[^"]|"")*"\s*([,;\t])|[^\s"]*([,;])\s)`)

// delimiterOf returns the delimiter of a line whose columns have no names.
func delimiterOf(line string) rune {
	if strings.ContainsRune(line, '\t') {
		return '\t'
	}
	if found := afterAddress.FindStringSubmatch(line); found != nil {
		return rune((found[1] + found[2])[0])
	}
	if !strings.ContainsRune(line, ',') && strings.ContainsRune(line, ';') {
		return ';'
	}
	return ','
}

// readFields reads one record.
func readFields(text string, delimiter rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace = delimiter, -1, delimiter != '\t'
	fields, err := r.Read()
	if err != nil {
		return nil, err
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) {
		return nil, csv.ErrQuote
	}
	return fields, nil
}

// fill sets the settings of a line from its fields.
func (t table) fill(line *manyLine, fields []string) {
	short := ""
	for i, field := range fields {
		field = strings.TrimSpace(field)
		column := ""
		if i < len(t.columns) {
			column = t.columns[i]
		} else if field != "" {
			line.Remark = "more fields than columns are left out"
		}
		switch column {
		case columnURL:
			line.LongURL = links.WithScheme(field)
		case columnHash:
			line.Hash = field
		case columnShort:
			short = field
		case columnTags:
			line.Tags = tags.Labels(field, ",;|")
		case columnNote:
			if line.Note == "" {
				line.Note = field
			}
		case columnDate:
			line.Date = field
		}
	}
	if at, err := url.Parse(short); line.Hash == "" && short != "" && err == nil {
		line.Hash = at.Path[strings.LastIndexByte(at.Path, '/')+1:]
	}
	if line.LongURL == "" {
		line.Reason = "The line has no destination"
	}
	if utf8.RuneCountInString(line.Note) > links.MaxNote {
		line.Note = string([]rune(line.Note)[:links.MaxNote])
		line.Remark = fmt.Sprintf("the note is cut after %d characters", links.MaxNote)
	}
}
