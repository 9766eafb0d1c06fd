// Package assets has the templates, the style sheet and the script that all pages of a console
// share. It knows no page.
package assets

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
)

//go:embed templates/*.html
var shared embed.FS

//go:embed style.css
var style []byte

//go:embed console.js
var script []byte

// Refused is the name of the page that shows a refusal alone.
const Refused = "refused"

// sitePath is the file with the navigation. One of the parts has it.
const sitePath = "templates/site.html"

// Part is the templates of some pages.
type Part struct {
	// Files has templates/NAME.html for each page. In one part, templates/site.html has the
	// navigation of all pages.
	Files     fs.FS
	Functions template.FuncMap // that templates call beside the functions of the package words
}

// Parse returns the templates of parts and of the page Refused, by the name of the page. It fails
// if a template is wrong.
func Parse(parts ...Part) (map[string]*template.Template, error) {
	layout := template.New("layout.html").Funcs(words.Functions)
	for _, part := range parts {
		layout.Funcs(part.Functions)
	}
	layout, err := layout.ParseFS(shared, "templates/layout.html")
	if err != nil {
		return nil, fmt.Errorf("layout of the console: %w", err)
	}
	for _, part := range parts {
		if _, err := fs.Stat(part.Files, sitePath); err != nil {
			continue
		}
		if layout, err = layout.ParseFS(part.Files, sitePath); err != nil {
			return nil, fmt.Errorf("navigation of the console: %w", err)
		}
	}
	pages := make(map[string]*template.Template)
	for _, part := range append(parts, Part{Files: shared}) {
		if err := add(pages, layout, part); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// add adds the templates of a part.
func add(pages map[string]*template.Template, layout *template.Template, part Part) error {
	files, err := fs.Glob(part.Files, "templates/*.html")
	if err != nil {
		return err
	}
	for _, file := range files {
		parsed, err := layout.Clone()
		if err == nil {
			parsed, err = parsed.ParseFS(part.Files, file)
		}
		if err != nil {
			return fmt.Errorf("template %s of the console: %w", file, err)
		}
		pages[strings.TrimSuffix(path.Base(file), ".html")] = parsed
	}
	return nil
}

// Routes returns the routes of the style sheet and the script.
func Routes() []router.Route {
	return []router.Route{
		router.Get("/console/style.css", serve("text/css; charset=utf-8", style)),
		router.Get("/console/console.js", serve("text/javascript; charset=utf-8", script)),
	}
}

func serve(contentType string, file []byte) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Cache-Control", "public, max-age=300")
		response.Write(w, http.StatusOK, contentType, file)
		return nil
	}
}
