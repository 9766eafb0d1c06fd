package console

import (
	"context"
	"embed"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"linkledger/httpapi/console/clicks"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// The paths of the console.
const (
	Root        = "/console"
	SignInPath  = Root + "/sign-in"
	LinkPath    = SignInPath + "/" // and the secret of a one-time link
	linksPath   = Root + "/links"
	ofLink      = linksPath + "/:hash"
	tagsPath    = Root + "/tags"
	filtersPath = tagsPath + "/filters"
	changePath  = Root + "/change"
	manyPath    = Root + "/new"

	activityPath = Root + "/activity"
	signedOut    = Root + "/signed-out"
	deletedPath  = Root + "/deleted"
	accountPath  = Root + "/account"
	keysPath     = Root + "/keys"
	proofsPath   = Root + "/proofs"
)

// Config of the console. All fields are required, but for OpenID, Base and Shown.
type Config struct {
	API       http.Handler // serves calls of the API
	Sessions  *session.Sessions
	OpenID    string // path at which people sign in at their issuer; empty: only keys sign in
	Operators string // scheme://host[:port] of the console of operators
	Base      shortlink.Base
	// Shown waits for a while until a read model, by its name, has what was written at a position.
	// It returns whether it has; nil: it has.
	Shown  func(ctx context.Context, readModel string, position uint64) bool
	Logger *slog.Logger
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
	"sign-in", "links", "link", "many", "tags", "filters", "activity", "batch", "keys", "account",
	"proofs", "deleted", "signed-out",
}

// New returns the console, or an error if a template is wrong.
func New(cfg Config) (*Handler, error) {
	files, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	pages, err := page.New(page.Config{
		API: cfg.API, Sessions: cfg.Sessions, Base: cfg.Base, Logger: cfg.Logger,
		SignIn: SignInPath, Start: Root, NoAccount: accountPath, Shown: cfg.shown(),
	}, files, template.FuncMap{"chart": clicks.NewChart, "linksOf": linksOf}, names...)
	if err != nil {
		return nil, err
	}
	return &Handler{pages, cfg}, nil
}

// shown returns whether a page has what was written, by the read model that it shows.
func (cfg Config) shown() func(ctx context.Context, path string, position uint64) bool {
	if cfg.Shown == nil {
		return nil
	}
	return func(ctx context.Context, path string, position uint64) bool {
		below := func(root string) bool {
			return path == root || strings.HasPrefix(path, root+"/")
		}
		switch {
		case below(linksPath), path == deletedPath:
			return cfg.Shown(ctx, "links", position)
		case below(tagsPath):
			return cfg.Shown(ctx, "tags", position)
		case below(activityPath):
			return cfg.Shown(ctx, "activity", position)
		}
		return true // the API itself waits for accounts, or refuses
	}
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
		router.Post(Root+"/sign-out", h.Action(linksPath, h.signOut)),
		router.Get(signedOut, h.Open("signed-out", h.signedOut)),
		router.Post(accountPath, h.Action(accountPath, h.moveSession)),
		router.Get(accountPath, h.SignedIn("account", h.account)),
		router.Post(Root+"/sessions/:id/end", h.Action(accountPath, h.endSession)),
		router.Post(Root+"/members", h.Action(accountPath, h.setMember)),
		router.Post(Root+"/members/:id/remove", h.Action(accountPath, h.removeMember)),

		router.Get(linksPath, h.SignedIn("links", h.links)),
		router.Post(linksPath, h.Action(linksPath, h.createLink)),
		router.Post(changePath, h.Action(linksPath, h.changeLinks)),
		router.Get(manyPath, h.SignedIn("many", h.many)),
		router.Post(manyPath, h.Action(manyPath, h.makeMany)),
		router.Get(ofLink, h.SignedIn("link", h.link)),
		router.Post(ofLink, h.Action(ofLink, h.editLink)),
		router.Post(ofLink+"/delete", h.Action(ofLink, h.deleteLink)),
		router.Post(ofLink+"/restore", h.Action(ofLink, h.restoreLink)),
		router.Post(ofLink+"/undo", h.Action(ofLink, h.undoOnLink)),
		router.Get(ofLink+"/proof", h.SignedIn("link", h.downloadProof)),
		router.Post(ofLink+"/proof", h.Action(ofLink, h.checkLink)),
		router.Get(deletedPath, h.SignedIn("deleted", h.deleted)),
		router.Get(proofsPath, h.SignedIn("proofs", h.proofs)),
		router.Post(proofsPath, h.Action(proofsPath, h.checkProof)),

		router.Get(tagsPath, h.SignedIn("tags", h.tags)),
		router.Post(tagsPath, h.Action(tagsPath, h.addTag)),
		router.Get(filtersPath, h.SignedIn("filters", h.filters)),
		router.Post(tagsPath+"/:label/rename", h.Action(tagsPath, h.renameTag)),
		router.Post(tagsPath+"/:label/delete", h.Action(tagsPath, h.deleteTag)),

		router.Get(activityPath, h.SignedIn("activity", h.activity)),
		router.Get(activityPath+"/:batch", h.SignedIn("batch", h.batch)),
		router.Post(activityPath+"/undo", h.Action(activityPath, h.undo)),
		router.Get(keysPath, h.SignedIn("keys", h.keys)),
		router.Post(keysPath, h.Action(keysPath, h.addKey)),
		router.Post(keysPath+"/:id/revoke", h.Action(keysPath, h.revokeKey)),
	)
}
