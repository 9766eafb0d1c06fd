package auditor

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"linkledger/commands/audit"
	"linkledger/events"
	"linkledger/internal/console"
)

// historyPrinter prints a history in one format.
type historyPrinter struct {
	out      io.Writer
	format   string
	username func(account string) (string, error)
}

// entries calls visit for each entry of a history in order.
type entries func(visit func(audit.Entry) error) error

// print prints a history with its entries. In ndjson and csv it prints them one by one and keeps
// none of them in memory.
func (p historyPrinter) print(printed printedHistory, all entries) error {
	switch p.format {
	case "json":
		return p.json(printed, all)
	case "ndjson":
		lines := json.NewEncoder(p.out)
		lines.SetEscapeHTML(false)
		return all(func(e audit.Entry) error { return lines.Encode(e) })
	case "csv":
		return p.csv(all)
	}
	return p.table(printed, all)
}

// json prints the history in the form of the API, as one page. The clicks per day are part of each
// link.
func (p historyPrinter) json(printed printedHistory, all entries) error {
	printed.Entries = []audit.Entry{}
	err := all(func(e audit.Entry) error {
		if e.Type != daySummary {
			printed.Entries = append(printed.Entries, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	whole := json.NewEncoder(p.out)
	whole.SetEscapeHTML(false)
	return whole.Encode(printed)
}

// csv prints one line for each field that an event changed, and one for an event without changes.
// Values are JSON, and texts of other programs are escaped as in JSON.
func (p historyPrinter) csv(all entries) error {
	lines := csv.NewWriter(p.out)
	write := func(cells []string) error {
		for i, cell := range cells {
			cells[i] = console.Escape(cell)
		}
		return lines.Write(cells)
	}
	err := write([]string{
		"time", "position", "stream", "revision", "id", "type", "link", "actor", "account", "key",
		"key_name", "user", "user_name", "via", "address", "visitor", "request", "batch", "field",
		"before", "after",
	})
	if err != nil {
		return err
	}
	err = all(func(e audit.Entry) error {
		event := []string{
			e.Time.Format(time.RFC3339Nano), strconv.FormatUint(e.Commit, 10), e.Stream,
			strconv.FormatInt(int64(e.Revision), 10), e.ID.String(), e.Type, e.Link,
			string(e.Actor.Kind), e.Actor.Account, e.Actor.Key, nameText(e.Actor.KeyName),
			e.Actor.User, nameText(e.Actor.UserName), e.Actor.Via, e.Actor.Address,
			e.Actor.Visitor, e.Request, e.Batch,
		}
		if len(e.Changes) == 0 {
			return write(append(event, "", "", ""))
		}
		for _, c := range e.Changes {
			change := []string{c.Field, changeText(c, c.Before), changeText(c, c.After)}
			if err := write(slices.Concat(event, change)); err != nil {
				return err
			}
		}
		return nil
	})
	lines.Flush()
	return errors.Join(err, lines.Error())
}

// table prints the links, and then the events.
func (p historyPrinter) table(printed printedHistory, all entries) error {
	links := make([]console.Row, len(printed.Links))
	for i, link := range printed.Links {
		account, err := p.username(link.Account)
		if err != nil {
			return err
		}
		var hashes []string
		for _, tenure := range link.Tenures {
			hashes = append(hashes, tenure.Hash+" from "+console.Time(tenure.From))
		}
		links[i] = console.Row{
			link.ID, account, hashes, console.Time(link.CreatedAt),
			console.Time(link.DeletedAt),
		}
	}
	if err := console.Table(
		p.out, console.Row{"link", "account", "hashes", "created", "deleted"}, links,
	); err != nil {
		return err
	}
	out := bufio.NewWriter(p.out)
	heading := ""
	err := writeText(out, "\n"+columns("time (UTC)", "event", "revision", "changed"))
	if err != nil {
		return err
	}
	err = all(func(e audit.Entry) error {
		above := heading
		var err error
		if heading, err = p.heading(e, len(printed.Links) > 1); err != nil {
			return err
		}
		if heading != above {
			err = writeText(out, "\n"+heading+"\n")
		}
		return errors.Join(err, writeText(out, entryLines(e)))
	})
	return errors.Join(err, out.Flush())
}

// heading returns the line above the events of one call: actor, batch and link.
func (p historyPrinter) heading(e audit.Entry, severalLinks bool) (string, error) {
	by, err := p.actor(e.Actor)
	if err != nil {
		return "", err
	}
	heading := "by " + by
	if e.Batch != "" {
		heading += ", batch " + e.Batch
	}
	if severalLinks {
		heading += ", link " + e.Link
	}
	return console.Escape(heading), nil
}

// entryLines returns the lines of an event, one for each field that it changed.
func entryLines(e audit.Entry) string {
	var changes []string
	if e.Actor.Visitor != "" {
		changes = append(changes, "visitor "+e.Actor.Visitor)
	}
	for _, c := range e.Changes {
		changes = append(
			changes,
			fmt.Sprintf("%s: %s -> %s", c.Field, changeText(c, c.Before), changeText(c, c.After)),
		)
	}
	if len(changes) == 0 {
		changes = []string{""}
	}
	var lines strings.Builder
	lines.WriteString(
		columns(console.Time(e.Time), e.Type, revisionText(e), changes[0]),
	)
	for _, change := range changes[1:] {
		lines.WriteString(columns("", "", "", change))
	}
	return lines.String()
}

// columns returns a line of the table of events, with its texts escaped. A value wider than its
// column moves the rest of the line.
func columns(at, event, revision, changed string) string {
	return strings.TrimRight(
		fmt.Sprintf(
			"%-26s  %-25s  %8s  %s", at, console.Escape(event), revision, console.Escape(changed),
		), " ",
	) + "\n"
}

func writeText(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func (p historyPrinter) actor(a audit.Actor) (string, error) {
	switch a.Kind {
	case audit.ByAccount:
		name, err := p.username(a.Account)
		words := slices.DeleteFunc(
			[]string{name, a.UserName, a.KeyName}, func(word string) bool { return word == "" },
		)
		if a.Key == "" && a.User != "" {
			return strings.Join(append(words, "person "+a.User), ", "), err
		}
		return strings.Join(append(words, "key "+a.Key), ", "), err
	case audit.ByVisitor:
		return "visitors", nil
	case audit.ByForeign:
		return "another account", nil
	case audit.ByOperator:
	}
	return "an operator", nil
}

// nameText returns the name of a key or a person as JSON, or "" if there is none.
func nameText(name string) string {
	if name == "" {
		return ""
	}
	return valueText(name)
}

// revisionText returns the revision of an event in the stream of its link. The command restore
// takes such a revision. For an event of another stream it returns "".
func revisionText(e audit.Entry) string {
	if e.Stream != events.LinkStream(e.Link) {
		return ""
	}
	return strconv.FormatInt(int64(e.Revision), 10)
}

// changeText returns a value before or after a change. An erased text has no quotes. Other texts
// have quotes.
func changeText(c audit.FieldChange, value any) string {
	if text, ok := value.(string); ok && c.Erased && text != "" {
		return text
	}
	return valueText(value)
}

// valueText returns a value as JSON, in which no value can move the cursor of a terminal or begin a
// formula of a spreadsheet.
func valueText(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "?" // never: the values of a FieldChange can be encoded
	}
	return strings.TrimSuffix(text.String(), "\n")
}
