// Package audit has the pages that say what has happened: the activity with its calls, and proofs.
// It also reads the history of a link, undoes calls and proves events for the page of the link.
package audit

import (
	"embed"
	"html/template"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/router"
)

// The paths of the pages.
const (
	ActivityPath = "/console/activity"
	proofsPath   = "/console/proofs"
)

//go:embed templates/*.html
var files embed.FS

// Part returns the templates of the pages.
func Part() assets.Part {
	return assets.Part{Files: files, Functions: template.FuncMap{
		"what": what, "undoable": undoable,
	}}
}

// Routes returns the routes of the pages.
func Routes(pages *page.Pages) []router.Route {
	return []router.Route{
		router.Get(ActivityPath, pages.SignedIn("activity", activity)),
		router.Get(ActivityPath+"/:batch", pages.SignedIn("batch", batch)),
		router.Post(ActivityPath+"/undo", pages.Action(ActivityPath, undo)),
		router.Get(proofsPath, pages.SignedIn("proofs", proofs)),
		router.Post(proofsPath, pages.Action(proofsPath, checkProof)),
	}
}

// mayRead reports whether the session may read histories. A key that is bound to tags may not.
func mayRead(p *page.Page) bool { return p.Can("history:read") && p.Session.Tags == nil }
