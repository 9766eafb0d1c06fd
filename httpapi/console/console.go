package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
)

// The paths of the console.
const (
	Root       = "/console"
	SignInPath = Root + "/sign-in"
	LinkPath   = SignInPath + "/" // and the secret of a one-time link
	stylePath  = Root + "/style.css"
	linksPath  = Root + "/links"
	tagsPath   = Root + "/tags"

	activityPath = Root + "/activity"
	accountPath  = Root + "/account"
)

// Config of the console. All fields are required, but for OpenID and Base.
type Config struct {
	API      http.Handler // serves calls of the API
	Sessions *session.Sessions
	OpenID   string // path at which people sign in at their issuer; empty: only keys sign in
	Base     shortlink.Base
	Logger   *slog.Logger
}

// Handler serves the pages.
type Handler struct {
	Config

	templates map[string]*template.Template // by the name of the page
}

//go:embed templates/*.html
var templates embed.FS

//go:embed style.css
var style []byte

// pages are the names of the pages, which are those of their templates.
var pages = []string{
	"sign-in", "links", "link", "many", "tags", "activity", "keys", "account", "refused",
}

// New returns the console, or an error if a template is wrong.
func New(cfg Config) (*Handler, error) {
	h := &Handler{Config: cfg, templates: make(map[string]*template.Template)}
	for _, name := range pages {
		parsed, err := template.New("layout.html").Funcs(functions).ParseFS(
			templates, "templates/layout.html", "templates/"+name+".html",
		)
		if err != nil {
			return nil, fmt.Errorf("page %s of the console: %w", name, err)
		}
		h.templates[name] = parsed
	}
	return h, nil
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []router.Route {
	return []router.Route{
		router.Get(stylePath, serveStyle),
		router.Get(Root, h.page("links", h.start)),
		router.Get(SignInPath, h.open("sign-in", h.askToSignIn)),
		router.Post(SignInPath, h.open("sign-in", h.signIn)),
		router.Get(LinkPath+":secret", h.open("sign-in", h.openLink)),
		router.Post(LinkPath+":secret", h.open("sign-in", h.signInByLink)),
		router.Post(Root+"/sign-out", h.page("links", h.signOut)),
		router.Post(accountPath, h.page("account", h.moveSession)),
		router.Get(accountPath, h.page("account", h.account)),
		router.Post(Root+"/sessions/:id/end", h.page("account", h.endSession)),
		router.Post(Root+"/members", h.page("account", h.setMember)),
		router.Post(Root+"/members/:id/remove", h.page("account", h.removeMember)),

		router.Get(linksPath, h.page("links", h.links)),
		router.Post(linksPath, h.page("links", h.createLink)),
		router.Post(Root+"/change", h.page("links", h.changeLinks)),
		router.Get(Root+"/new", h.page("many", h.many)),
		router.Post(Root+"/new", h.page("many", h.makeMany)),
		router.Get(linksPath+"/:hash", h.page("link", h.link)),
		router.Post(linksPath+"/:hash", h.page("link", h.editLink)),
		router.Post(linksPath+"/:hash/delete", h.page("link", h.deleteLink)),
		router.Post(linksPath+"/:hash/restore", h.page("link", h.restoreLink)),
		router.Post(linksPath+"/:hash/undo", h.page("link", h.undoOnLink)),

		router.Get(tagsPath, h.page("tags", h.tags)),
		router.Post(tagsPath, h.page("tags", h.addTag)),
		router.Post(tagsPath+"/:label/rename", h.page("tags", h.renameTag)),
		router.Post(tagsPath+"/:label/delete", h.page("tags", h.deleteTag)),

		router.Get(activityPath, h.page("activity", h.activity)),
		router.Post(activityPath+"/undo", h.page("activity", h.undo)),
		router.Get(Root+"/keys", h.page("keys", h.keys)),
		router.Post(Root+"/keys", h.page("keys", h.addKey)),
		router.Post(Root+"/keys/:id/revoke", h.page("keys", h.revokeKey)),
	}
}

// page is one page in the making. Its exported fields are for the templates.
type page struct {
	c *request.Context
	h *Handler

	username, key string // of the calls in place of the session, while someone signs in

	Title   string
	Session *sessionRecord // nil: nobody has signed in
	Calls   []call         // that the page has made
	Refused string         // why an action was refused
	Form    url.Values     // what was typed, after a refusal
	Data    any            // of the template
	status  int
	// redirect is where the browser goes in place of the page.
	redirect string
}

// page returns the handler of a page for those who have signed in.
func (h *Handler) page(name string, fill func(*page) error) bunrouter.HandlerFunc {
	return h.open(name, func(p *page) error {
		if err := h.Sessions.CheckOrigin(p.c.Request); err != nil {
			return err
		}
		if err := p.readSession(); err != nil {
			return err
		}
		return fill(p)
	})
}

// open returns the handler of a page for everybody.
func (h *Handler) open(name string, fill func(*page) error) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		p := &page{c: request.Of(w, r), h: h, status: http.StatusOK}
		err := fill(p)
		refused, isRefusal := asRefusal(err)
		switch {
		case isRefusal && refused.code == apierror.CodeInvalidKey && name != "sign-in":
			back := Root // an action is not repeated after a sign-in
			if p.c.Request.Method == http.MethodGet {
				back = openid.LocalPath(p.c.Request.URL.RequestURI())
			}
			p.redirect = SignInPath + "?return=" + url.QueryEscape(back)
		case isRefusal:
			p.redirect = ""
			name, p.Title, p.status, p.Refused = "refused", "Refused", refused.status, refused.text
		case err != nil:
			return err
		}
		if p.redirect != "" {
			p.secure()
			http.Redirect(p.c, p.c.Request, p.redirect, http.StatusSeeOther)
			return nil
		}
		return p.write(name)
	}
}

// secure sets the headers of all pages.
func (p *page) secure() {
	header := p.c.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "+
			"base-uri 'none'; frame-ancestors 'none'",
	)
}

func (p *page) write(name string) error {
	var html bytes.Buffer
	if err := p.h.templates[name].Execute(&html, p); err != nil {
		return fmt.Errorf("page %s of the console: %w", name, err)
	}
	p.secure()
	response.Write(p.c, p.status, "text/html; charset=utf-8", html.Bytes())
	return nil
}

// Base returns scheme and host of the service, as its API is reached.
func (p *page) Base() string { return p.h.Base.Of(p.c.Request) }

// Path returns the path of the page.
func (p *page) Path() string { return p.c.Request.URL.Path }

// Can reports whether the session has a scope.
func (p *page) Can(scope string) bool {
	return p.Session != nil && slices.Contains(p.Session.Scopes, scope)
}

// In reports whether the page lies below a path, for the navigation.
func (p *page) In(path string) bool {
	return p.Path() == path || strings.HasPrefix(p.Path(), path+"/")
}

func serveStyle(w http.ResponseWriter, _ bunrouter.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=300")
	response.Write(w, http.StatusOK, "text/css; charset=utf-8", style)
	return nil
}
