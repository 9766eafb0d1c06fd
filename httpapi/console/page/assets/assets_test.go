package assets_test

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/router"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// TestParse parses two parts. One of them has the navigation of both.
func TestParse(t *testing.T) {
	t.Parallel()
	site := assets.Part{Files: fstest.MapFS{
		"templates/site.html": file(`{{define "site"}}{{end}}{{define "own"}}of the site {{double 21}}{{end}}`),
		"templates/one.html":  file(`{{define "main"}}one {{template "own"}}{{end}}`),
	}}
	other := assets.Part{
		Files:     fstest.MapFS{"templates/two.html": file(`{{define "main"}}two {{template "own"}}{{end}}`)},
		Functions: template.FuncMap{"double": func(n int) int { return 2 * n }},
	}
	pages, err := assets.Parse(site, other)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"one": "one of the site 42", "two": "two of the site 42"} {
		var text strings.Builder
		if err := pages[name].ExecuteTemplate(&text, "main", nil); err != nil || text.String() != want {
			t.Errorf("the page %s is %q, %v, want %q", name, &text, err, want)
		}
	}
	if pages[assets.Refused] == nil {
		t.Error("there is no page of a refusal")
	}
}

func TestWrongTemplates(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"templates/site.html": "navigation of the console",
		"templates/one.html":  "template templates/one.html of the console",
	} {
		_, err := assets.Parse(assets.Part{Files: fstest.MapFS{path: file("{{")}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s with an open action: %v, want %q", path, err, want)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	routes := router.New(assets.Routes(), func(string) router.Handler { return nil })
	for path, want := range map[string]string{
		"/console/style.css": "text/css; charset=utf-8", "/console/console.js": "text/javascript; charset=utf-8",
	} {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want || w.Body.Len() == 0 {
			t.Errorf("%s answers %d, %q, %d bytes", path, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
		if got := w.Header().Get("Cache-Control"); got != "public, max-age=300" {
			t.Errorf("%s may be kept %q", path, got)
		}
	}
}
