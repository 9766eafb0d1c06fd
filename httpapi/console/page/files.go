package page

import (
	_ "embed"
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
)

//go:embed style.css
var style []byte

//go:embed console.js
var script []byte

// Files returns the routes of what all pages load.
func Files() []router.Route {
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
