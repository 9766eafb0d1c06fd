package console

import (
	"context"
	"embed"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"linkledger/httpapi/console/account"
	"linkledger/httpapi/console/audit"
	"linkledger/httpapi/console/links"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/console/paste"
	"linkledger/httpapi/console/tags"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// The paths of the console.
const (
	Root       = "/console"
	SignInPath = Root + "/sign-in"
	LinkPath   = SignInPath + "/" // the secret of a one-time link follows
	signedOut  = Root + "/signed-out"
)

// Config configures the console. All fields except OpenID, Base and Shown are required.
type Config struct {
	API       http.Handler // serves calls of the API
	Sessions  *session.Sessions
	OpenID    string // path at which people sign in at their issuer; empty: only keys sign in
	Operators string // scheme://host[:port] of the console of operators
	Base      shortlink.Base
	// Shown waits for a short time until the read model with a name has the writes up to a commit
	// position. It reports whether the read model has them. If Shown is nil, read models always
	// count as complete.
	Shown  func(ctx context.Context, readModel string, position uint64) bool
	Logger *slog.Logger
}

// Handler serves the pages.
type Handler struct {
	*page.Pages

	cfg Config
}

//go:embed templates/*.html
var files embed.FS

// New returns the console, or an error if a template is wrong.
func New(cfg Config) (*Handler, error) {
	pages, err := page.New(
		page.Config{
			API: cfg.API, Sessions: cfg.Sessions, Base: cfg.Base, Logger: cfg.Logger,
			SignIn: SignInPath, Start: Root, NoAccount: account.Path, Shown: cfg.shown(),
		},
		assets.Part{Files: files}, links.Part(), paste.Part(), tags.Part(), audit.Part(),
		account.Part(),
	)
	if err != nil {
		return nil, err
	}
	return &Handler{pages, cfg}, nil
}

// shown returns the function for page.Config.Shown. The function waits for the read model whose
// data the page with a path shows.
func (cfg Config) shown() func(ctx context.Context, path string, position uint64) bool {
	if cfg.Shown == nil {
		return nil
	}
	return func(ctx context.Context, path string, position uint64) bool {
		below := func(root string) bool {
			return path == root || strings.HasPrefix(path, root+"/")
		}
		switch {
		case below(links.Path), path == links.DeletedPath:
			return cfg.Shown(ctx, "links", position)
		case below(tags.Path):
			return cfg.Shown(ctx, "tags", position)
		case below(audit.ActivityPath):
			return cfg.Shown(ctx, "activity", position)
		}
		return true // the API itself waits for changes of accounts, or refuses
	}
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []router.Route {
	return slices.Concat(
		assets.Routes(),
		[]router.Route{
			router.Get(Root, h.SignedIn("links", start)),
			router.Get(SignInPath, h.Open("sign-in", h.askToSignIn)),
			router.Post(SignInPath, h.Open("sign-in", h.signIn)),
			router.Get(LinkPath+":secret", h.Open("sign-in", h.openLink)),
			router.Post(LinkPath+":secret", h.Open("sign-in", h.signInByLink)),
			router.Post(Root+"/sign-out", h.Action(links.Path, h.signOut)),
			router.Get(signedOut, h.Open("signed-out", h.signedOut)),
		},
		links.Routes(h.Pages), paste.Routes(h.Pages), tags.Routes(h.Pages), audit.Routes(h.Pages),
		account.Routes(h.Pages, h.cfg.Operators, links.Path),
	)
}

// start redirects to the list of links. It is not called for a session without an account, which
// SignedIn redirects to the page that offers accounts.
func start(p *page.Page) error {
	p.Redirect = links.Path
	return nil
}
