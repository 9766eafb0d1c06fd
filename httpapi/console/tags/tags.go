// Package tags has the pages about tags, and reads and writes lists of labels as people type them.
package tags

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/router"
)

// Path is the path of the page of tags.
const Path = "/console/tags"

//go:embed templates/*.html
var files embed.FS

// Part returns the templates of the pages. Templates of other pages call the function linksOf too.
func Part() assets.Part {
	return assets.Part{Files: files, Functions: template.FuncMap{
		"linksOf": linksOf, "tagPath": tagPath,
	}}
}

// Routes returns the routes of the pages.
func Routes(pages *page.Pages) []router.Route {
	return []router.Route{
		router.Get(Path, pages.SignedIn("tags", tags)),
		router.Post(Path, pages.Action(Path, addTag)),
		router.Get(Path+"/filters", pages.SignedIn("filters", filters)),
		router.Post(Path+"/:label/rename", pages.Action(Path, renameTag)),
		router.Post(Path+"/:label/delete", pages.Action(Path, deleteTag)),
	}
}

// linksOf returns the address of the list of the links with a tag. It puts the label in quotes,
// without escapes, because a label never has a quotation mark.
func linksOf(label string) string {
	return "/console/links?tags=" + url.QueryEscape(`+"`+label+`"`)
}

// tagPath returns the path of the actions on a tag.
func tagPath(label string) string { return Path + "/" + url.PathEscape(label) }

func tags(p *page.Page) error {
	p.Title = "Tags"
	var answer contract.TagsAnswer
	err := p.Get("/v3/tags", nil, &answer)
	p.Data = answer
	return err
}

func addTag(p *page.Page) error {
	body := contract.TagPayload{Label: strings.TrimSpace(p.Form.Get("label"))}
	err := p.Call(http.MethodPost, "/v3/tags", body, nil)
	return p.Finish(err, Path, "The tag is made")
}

func tagCall(p *page.Page) string { return "/v3/tags/" + url.PathEscape(p.C.Param("label")) }

func renameTag(p *page.Page) error {
	label := strings.TrimSpace(p.Form.Get("label"))
	err := p.Call(http.MethodPatch, tagCall(p), contract.TagPayload{Label: label}, nil)
	return p.Finish(err, Path, p.C.Param("label")+" is now "+label)
}

func deleteTag(p *page.Page) error {
	err := p.Call(http.MethodDelete, tagCall(p), nil, nil)
	return p.Finish(err, Path, p.C.Param("label")+" is taken off all links")
}

// Labels splits a text at the separators, and returns the labels. A label that has a separator in
// it stands in double quotes.
func Labels(text, separators string) []string {
	var list []string
	var label strings.Builder
	end := func() {
		if trimmed := strings.TrimSpace(label.String()); trimmed != "" {
			list = append(list, trimmed)
		}
		label.Reset()
	}
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && strings.ContainsRune(separators, r):
			end()
		default:
			label.WriteRune(r)
		}
	}
	end()
	return list
}

// Joined returns labels as a text that Labels splits into the same labels.
func Joined(list []string) string {
	written := make([]string, len(list))
	for i, label := range list {
		if written[i] = label; strings.ContainsAny(label, ",;") {
			written[i] = `"` + label + `"`
		}
	}
	return strings.Join(written, ", ")
}
