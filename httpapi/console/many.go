package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// manyData is what the page for many links shows.
type manyData struct {
	Lines   []manyLine
	Ignored []string // columns that no link has
	Ready   int      // links that would be made
	Made    int      // links that were made; 0: the lines are those to be made
	Failed  int      // lines of which nothing was made
	Text    string   // that is shown in the form
	// Previewed is the sum of the text whose lines the page shows, in the form that makes them.
	Previewed string
}

// many shows the form, and the lines that the last form had.
func (h *Handler) many(p *page.Page) error {
	p.Title = "Many links"
	var data manyData
	p.Hear(&data)
	typed := p.Typed(manyPath)
	data.Text = typed.Get("lines")
	if data.Made == 0 && len(data.Lines) > 0 {
		data.Previewed = sumOf(data.Text)
	}
	p.Data = data
	return nil
}

// sumOf names a text. Browsers end lines in their own way.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return hex.EncodeToString(sum[:8])
}

// makeMany shows what becomes of each line, and makes the links once they were seen. A line that is
// refused stays in the form, with the reason.
func (h *Handler) makeMany(p *page.Page) error {
	text := p.Form.Get("lines")
	lines, of, err := readPaste(text)
	if err != nil {
		return err
	}
	p.Kept = true
	if p.Form.Get("previewed") != sumOf(text) {
		data := manyData{Lines: lines, Ignored: of.ignored}
		for _, line := range lines {
			if line.Reason == "" {
				data.Ready++
			}
		}
		p.Told = data
		return p.Finish(nil, manyPath, "")
	}
	if err := makeLines(p, lines); err != nil {
		return err
	}
	p.Calls = p.Calls[:min(1, len(p.Calls))] // they are alike
	data := manyData{Lines: lines}
	var left []string
	for _, line := range lines {
		if line.Reason == "" {
			data.Made++
		} else {
			left = append(left, line.Text)
		}
	}
	data.Failed = len(left)
	p.Told = data
	if len(left) > 0 && of.delimiter != 0 {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n") // the names of the columns
		left = append([]string{strings.TrimSuffix(first, "\r")}, left...)
	}
	p.Form.Set("lines", strings.Join(left, "\n"))
	notice := count(data.Made, "link") + " made"
	if data.Failed > 0 {
		notice += fmt.Sprintf(". %d of %d lines were refused", data.Failed, len(lines))
	}
	if data.Made == 0 {
		return &page.RefusedError{Status: http.StatusBadRequest, Text: notice}
	}
	return p.FinishUndoable(nil, manyPath, notice)
}

// makeLines makes the links of lines, and sets what became of each. It fails if all were refused
// together, or if the service did not answer: the same form, sent again, makes the rest.
func makeLines(p *page.Page, lines []manyLine) error {
	var good []*manyLine
	for i := range lines {
		if lines[i].Reason == "" {
			good = append(good, &lines[i])
		}
	}
	made := 0
	for begin := 0; begin < len(good); begin += maxItems {
		part := good[begin:min(begin+maxItems, len(good))]
		items := make([]map[string]any, len(part))
		for i, line := range part {
			items[i] = line.item()
		}
		var answer linksAnswer
		err := p.Call(http.MethodPost, "/v3/urls", map[string]any{"urls": items}, &answer)
		refused, ok := page.AsRefusal(err)
		if err != nil && (!ok || made == 0 || refused.Status >= http.StatusInternalServerError) {
			return err
		}
		for i, line := range part {
			switch {
			case ok:
				line.Reason = page.Refusal(refused.Text)
			case i < len(answer.URLs):
				line.Reason = answer.URLs[i].reason()
				line.Path, line.Short = answer.URLs[i].Path(), answer.URLs[i].ShortURL
				made++
			}
		}
	}
	return nil
}
