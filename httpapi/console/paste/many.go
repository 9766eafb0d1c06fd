// Package paste has the page that makes many links from pasted lines.
package paste

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"linkledger/httpapi/console/links"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/router"
)

// Path is the path of the page.
const Path = "/console/new"

//go:embed templates/*.html
var files embed.FS

// Part returns the template of the page.
func Part() assets.Part { return assets.Part{Files: files} }

// Routes returns the routes of the page.
func Routes(pages *page.Pages) []router.Route {
	return []router.Route{
		router.Get(Path, pages.SignedIn("many", many)),
		router.Post(Path, pages.Action(Path, makeMany)),
	}
}

const (
	// maxLines bounds the lines of a paste, and so the links that the page makes at once.
	maxLines = 1000
	// maxItems is how many links one call makes.
	maxItems = 50
)

// manyData is what the page for many links shows.
type manyData struct {
	Lines   []manyLine
	Ignored []string // columns that no link has
	Ready   int      // links that would be made
	Made    int      // links that were made; 0: the lines are a preview
	Failed  int      // lines that made no link
	Text    string   // that is shown in the form
	// Previewed is the sum of the text whose preview the page shows. The button that makes the
	// links sends it.
	Previewed string
}

// many shows the form, and the lines of the form that was sent last.
func many(p *page.Page) error {
	p.Title = "Many links"
	var data manyData
	p.Hear(&data)
	typed := p.Typed(Path)
	data.Text = typed.Get("lines")
	if data.Made == 0 && len(data.Lines) > 0 {
		data.Previewed = sumOf(data.Text)
	}
	p.Data = data
	return nil
}

// sumOf returns a hash that identifies a text. It is the same for both kinds of line ends, because
// browsers change them.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(text, "\r\n", "\n")))
	return hex.EncodeToString(sum[:8])
}

// makeMany shows a preview of each line. If the form comes from the preview of the same text, it
// makes the links instead. A line that is refused stays in the form, with the reason.
func makeMany(p *page.Page) error {
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
		return p.Finish(nil, Path, "")
	}
	if err := makeLines(p, lines); err != nil {
		return err
	}
	p.Calls = p.Calls[:min(1, len(p.Calls))] // the page shows one call, because all are alike
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
	notice := words.Are(data.Made, "link") + " made"
	if data.Failed > 0 {
		notice += fmt.Sprintf(". %d of %d lines were refused", data.Failed, len(lines))
	}
	if data.Made == 0 {
		return &calls.RefusedError{Status: http.StatusBadRequest, Text: notice}
	}
	return p.FinishUndoable(nil, Path, notice)
}

// makeLines makes the links of lines, and sets the result of each line. It fails if a call is
// refused before any link is made, or if the service fails (5xx). If the same form is then sent
// again, it makes the rest.
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
		var answer contract.URLsAnswer[contract.URL]
		err := p.Call(http.MethodPost, "/v3/urls", map[string]any{"urls": items}, &answer)
		refused, ok := calls.AsRefusal(err)
		if err != nil && (!ok || made == 0 || refused.Status >= http.StatusInternalServerError) {
			return err
		}
		for i, line := range part {
			switch {
			case ok:
				line.Reason = words.Refusal(refused.Text)
			case i < len(answer.URLs):
				line.Reason = words.Reason(answer.URLs[i].Error)
				line.Path = links.PathOf(answer.URLs[i].Hash)
				line.Short = answer.URLs[i].ShortURL
				made++
			}
		}
	}
	return nil
}
