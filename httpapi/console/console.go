package console

import (
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"

	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// The paths of the console.
const (
	Root       = "/console"
	SignInPath = Root + "/sign-in"
	LinkPath   = SignInPath + "/" // and the secret of a one-time link
	linksPath  = Root + "/links"
	tagsPath   = Root + "/tags"

	activityPath = Root + "/activity"
	deletedPath  = Root + "/deleted"
	accountPath  = Root + "/account"
	keysPath     = Root + "/keys"
	proofsPath   = Root + "/proofs"
)

// Config of the console. All fields are required, but for OpenID and Base.
type Config struct {
	API       http.Handler // serves calls of the API
	Sessions  *session.Sessions
	OpenID    string // path at which people sign in at their issuer; empty: only keys sign in
	Operators string // scheme://host[:port] of the console of operators
	Base      shortlink.Base
	Logger    *slog.Logger
}

// Handler serves the pages.
type Handler struct {
	*page.Pages

	cfg Config
}

//go:embed templates/*.html
var templates embed.FS

// names are those of the pages and of their templates.
var names = []string{
	"sign-in", "links", "link", "many", "tags", "activity", "batch", "keys", "account", "proofs",
	"deleted", "signed-out",
}

// New returns the console, or an error if a template is wrong.
func New(cfg Config) (*Handler, error) {
	files, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	pages, err := page.New(page.Config{
		API: cfg.API, Sessions: cfg.Sessions, Base: cfg.Base, Logger: cfg.Logger,
		SignIn: SignInPath, Start: Root, NoAccount: accountPath,
	}, files, template.FuncMap{"chart": clicks.NewChart, "linksOf": linksOf}, names...)
	if err != nil {
		return nil, err
	}
	return &Handler{pages, cfg}, nil
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []router.Route {
	return append(
		page.Files(),
		router.Get(Root, h.SignedIn("links", h.start)),
		router.Get(SignInPath, h.Open("sign-in", h.askToSignIn)),
		router.Post(SignInPath, h.Open("sign-in", h.signIn)),
		router.Get(LinkPath+":secret", h.Open("sign-in", h.openLink)),
		router.Post(LinkPath+":secret", h.Open("sign-in", h.signInByLink)),
		router.Post(Root+"/sign-out", h.SignedIn("signed-out", h.signOut)),
		router.Post(accountPath, h.SignedIn("account", h.moveSession)),
		router.Get(accountPath, h.SignedIn("account", h.account)),
		router.Post(Root+"/sessions/:id/end", h.SignedIn("account", h.endSession)),
		router.Post(Root+"/members", h.SignedIn("account", h.setMember)),
		router.Post(Root+"/members/:id/remove", h.SignedIn("account", h.removeMember)),

		router.Get(linksPath, h.SignedIn("links", h.links)),
		router.Post(linksPath, h.SignedIn("links", h.createLink)),
		router.Post(Root+"/change", h.SignedIn("links", h.changeLinks)),
		router.Get(Root+"/new", h.SignedIn("many", h.many)),
		router.Post(Root+"/new", h.SignedIn("many", h.makeMany)),
		router.Get(linksPath+"/:hash", h.SignedIn("link", h.link)),
		router.Post(linksPath+"/:hash", h.SignedIn("link", h.editLink)),
		router.Post(linksPath+"/:hash/delete", h.SignedIn("link", h.deleteLink)),
		router.Post(linksPath+"/:hash/restore", h.SignedIn("link", h.restoreLink)),
		router.Post(linksPath+"/:hash/undo", h.SignedIn("link", h.undoOnLink)),
		router.Get(linksPath+"/:hash/proof", h.SignedIn("link", h.downloadProof)),
		router.Post(linksPath+"/:hash/proof", h.SignedIn("proofs", h.checkLink)),
		router.Get(deletedPath, h.SignedIn("deleted", h.deleted)),
		router.Get(proofsPath, h.SignedIn("proofs", h.proofs)),
		router.Post(proofsPath, h.SignedIn("proofs", h.checkProof)),

		router.Get(tagsPath, h.SignedIn("tags", h.tags)),
		router.Post(tagsPath, h.SignedIn("tags", h.addTag)),
		router.Post(tagsPath+"/:label/rename", h.SignedIn("tags", h.renameTag)),
		router.Post(tagsPath+"/:label/delete", h.SignedIn("tags", h.deleteTag)),

		router.Get(activityPath, h.SignedIn("activity", h.activity)),
		router.Get(activityPath+"/:batch", h.SignedIn("batch", h.batch)),
		router.Post(activityPath+"/undo", h.SignedIn("activity", h.undo)),
		router.Get(keysPath, h.SignedIn("keys", h.keys)),
		router.Post(keysPath, h.SignedIn("keys", h.addKey)),
		router.Post(Root+"/keys/:id/revoke", h.SignedIn("keys", h.revokeKey)),
	)
}
