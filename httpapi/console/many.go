package console

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"linkledger/httpapi/console/page"
)

const (
	// maxLines bounds the links that the page for many makes at once.
	maxLines = 1000
	// maxItems is how many links one call makes.
	maxItems = 50
)

// manyData is what the page for many links shows after it has made them.
type manyData struct {
	Lines []madeLine
	Made  int
}

// madeLine is a line of the page for many links, and what became of it.
type madeLine struct {
	Number int // from 1
	Text   string
	Link   linkRecord
	Reason string // why there is no link
}

func (h *Handler) many(p *page.Page) error {
	p.Title, p.Data = "Many links", manyData{}
	return nil
}

// makeMany makes a link for each line. A line that is refused stays in the form, with the reason.
func (h *Handler) makeMany(p *page.Page) error {
	p.Title = "Many links"
	form, err := p.ReadForm()
	if err != nil {
		return err
	}
	p.Form = form
	p.Data = manyData{}
	lines, items, wrong := readLines(form.Get("lines"))
	if wrong != "" {
		p.Refused, p.Status = wrong, http.StatusBadRequest
		return nil
	}
	for begin := 0; begin < len(items); begin += maxItems {
		end := min(begin+maxItems, len(items))
		var answer linksAnswer
		body := map[string]any{"urls": items[begin:end]}
		err := p.Call(http.MethodPost, "/v3/urls", body, &answer)
		refused, ok := page.AsRefusal(err)
		if err != nil && !ok {
			return err
		}
		for i := begin; i < end; i++ {
			if ok {
				p.Status = refused.Status
				lines[i].Reason = refused.Text
			} else if at := i - begin; at < len(answer.URLs) {
				lines[i].Link, lines[i].Reason = answer.URLs[at], answer.URLs[at].reason()
			}
		}
	}
	p.Calls = p.Calls[:1] // they are alike
	data := manyData{Lines: lines}
	var left []string
	for _, line := range lines {
		if line.Reason == "" {
			data.Made++
		} else {
			left = append(left, line.Text)
		}
	}
	form.Set("lines", strings.Join(left, "\n"))
	if len(left) > 0 {
		p.Refused = fmt.Sprintf("%d of %d lines were refused", len(left), len(lines))
	}
	p.Data = data
	return nil
}

// readLines reads lines of comma-separated values: destination, hash, tags with semicolons in
// between, note. All but the destination may be missing. A first line that names the columns is
// skipped. If the lines cannot be read, wrong says why.
func readLines(text string) (lines []madeLine, items []map[string]any, wrong string) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, "The lines cannot be read: " + err.Error()
		}
		number, _ := r.FieldPos(0)
		if number == 1 && strings.EqualFold(fields[0], "long_url") {
			continue
		}
		if len(lines) == maxLines {
			return nil, nil, fmt.Sprintf("There are more than %d lines", maxLines)
		}
		fields = append(fields, "", "", "")
		item := map[string]any{"long_url": strings.TrimSpace(fields[0])}
		if hash := strings.TrimSpace(fields[1]); hash != "" {
			item["custom_hash"] = hash
		}
		if tags := labels(fields[2], ",;"); len(tags) > 0 {
			item["tags"] = tags
		}
		if note := strings.TrimSpace(fields[3]); note != "" {
			item["note"] = note
		}
		items = append(items, item)
		lines = append(lines, madeLine{
			Number: number, Text: joined(fields[:len(fields)-3]),
		})
	}
	if len(lines) == 0 {
		return nil, nil, "There is no line"
	}
	return lines, items, ""
}

// joined returns the line of comma-separated values that has the fields.
func joined(fields []string) string {
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(fields) // a strings.Builder takes everything
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}
