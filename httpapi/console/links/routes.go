// Package links has the pages about links: the list, the page of one link, and deleted links.
package links

import (
	"embed"
	"html/template"
	"net/url"

	"linkledger/httpapi/console/audit"
	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/router"
)

// The paths of the pages.
const (
	Path        = "/console/links"
	DeletedPath = "/console/deleted"
	ofLink      = Path + "/:hash"
	changePath  = "/console/change"
)

//go:embed templates/*.html
var files embed.FS

// Part returns the templates of the pages.
func Part() assets.Part {
	return assets.Part{Files: files, Functions: template.FuncMap{
		"chart": clicks.NewChart, "linkPath": PathOf,
	}}
}

// handler makes the pages.
type handler struct{ *page.Pages }

// Routes returns the routes of the pages, and of the undo and the proof on the page of a link.
func Routes(pages *page.Pages) []router.Route {
	h := handler{pages}
	return []router.Route{
		router.Get(Path, h.SignedIn("links", h.list)),
		router.Post(Path, h.Action(Path, create)),
		router.Post(changePath, h.Action(Path, changeLinks)),
		router.Get(ofLink, h.SignedIn("link", h.show)),
		router.Post(ofLink, h.Action(ofLink, edit)),
		router.Post(ofLink+"/delete", h.Action(ofLink, remove)),
		router.Post(ofLink+"/restore", h.Action(ofLink, restore)),
		router.Post(ofLink+"/undo", h.Action(ofLink, func(p *page.Page) error {
			return audit.UndoOnLink(p, linkPath(p))
		})),
		router.Get(ofLink+"/proof", h.SignedIn("link", audit.DownloadProof)),
		router.Post(ofLink+"/proof", h.Action(ofLink, audit.CheckLink)),
		router.Get(DeletedPath, h.SignedIn("deleted", deleted)),
	}
}

// PathOf returns the path of the page of the link with a hash.
func PathOf(hash string) string { return Path + "/" + url.PathEscape(hash) }

// linkPath returns the path of the page of the link that the path of a page or form names.
func linkPath(p *page.Page) string { return PathOf(p.C.Param("hash")) }

// linkCall returns the path of the calls about the link that the path of a page or form names.
func linkCall(p *page.Page) string { return "/v3/urls/" + url.PathEscape(p.C.Param("hash")) }
