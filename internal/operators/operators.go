package operators

import (
	"cmp"
	"context"
	"crypto/tls"
	"embed"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"linkledger/events/eventstore"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/assets"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/internal/operators/monitor"
	"linkledger/internal/operators/streampages"
	"linkledger/projections/readmodel"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// The paths of the console.
const (
	root            = "/console"
	signInPath      = root + "/sign-in"
	projectionsPath = root + "/projections"
	streamsPath     = root + "/streams"
	accountsPath    = root + "/accounts"
	sessionsPath    = root + "/sessions"
	processesPath   = root + "/processes"
)

// Config of the console. All fields are required, except for Hosts, Patience and Interval.
type Config struct {
	DB       *readmodel.DB
	Store    *eventstore.Store
	Queries  *queries.DB
	Sessions *session.Sessions // with the origins and the cookies of this address
	Process  Process
	Hosts    Hosts
	Patience time.Duration // how long a page waits for the event store; 0: 2 s
	Interval time.Duration // between samples of the projections while no page is open; 0: 20 s
	Logger   *slog.Logger
}

// Handler serves the pages. It is safe for concurrent use.
type Handler struct {
	Config

	*page.Pages

	routes  *router.Router
	began   time.Time
	monitor *monitor.Monitor
	streams *streampages.Pages
}

//go:embed templates/*.html
var templates embed.FS

// New returns the console, or an error if a template is wrong. Its verifications and charts
// need Run.
func New(cfg Config) (*Handler, error) {
	h := &Handler{Config: cfg, began: time.Now()}
	h.Patience = cmp.Or(h.Patience, 2*time.Second)
	h.Interval = cmp.Or(h.Interval, 20*time.Second)
	h.monitor = monitor.New(monitor.Config{
		DB: cfg.DB, Store: cfg.Store, Patience: h.Patience, Interval: h.Interval,
	})
	h.streams = streampages.New(cfg.DB, cfg.Store, h.Patience, streamsPath)
	var err error
	h.Pages, err = page.New(page.Config{
		Sessions: cfg.Sessions, Logger: cfg.Logger, SignIn: signInPath, Start: root,
		Resume: h.identify,
	}, assets.Part{Files: templates, Functions: functions})
	if err != nil {
		return nil, fmt.Errorf("console of operators: %w", err)
	}
	h.routes = router.New(h.Routes(), func(allow string) router.Handler {
		return func(w http.ResponseWriter, _ router.Request) error {
			w.Header().Set("Allow", allow)
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
	})
	return h, nil
}

// Run samples the projections and runs the verifications that operators ask for, until ctx ends.
func (h *Handler) Run(ctx context.Context) error {
	h.monitor.Run(ctx)
	return nil
}

// Routes returns the routes of the pages.
func (h *Handler) Routes() []router.Route {
	projection := projectionsPath + "/:name"
	return append(
		assets.Routes(),
		router.Get(signInPath, h.Open("sign-in", h.askToSignIn)),
		router.Get(signInPath+"/:secret", h.Open("sign-in", h.openLink)),
		router.Post(signInPath+"/:secret", h.Open("sign-in", h.signInByLink)),
		router.Post(root+"/sign-out", h.act(root, h.signOut)),

		router.Get(root, h.open("overview", h.overview)),
		router.Get(projection, h.open("projection", h.projection)),
		router.Get(projection+"/rebuild", h.open("rebuild", h.askToRebuild)),
		router.Post(projection+"/rebuild", h.act(projection, h.rebuild)),
		router.Post(projection+"/pause", h.act(projection, h.pause)),
		router.Post(projection+"/resume", h.act(projection, h.resume)),
		router.Post(projection+"/rollback", h.act(projection, h.rollback)),
		router.Post(projection+"/prune", h.act(projection, h.prune)),
		router.Post(projection+"/verify", h.act(projection, h.verify)),
		router.Post(projection+"/retry", h.act(projection, h.retry)),
		router.Post(projection+"/discard", h.act(projection, h.discard)),

		router.Get(streamsPath, h.open("streams", h.streams.Stream)),
		router.Get(streamsPath+"/event", h.open("event", h.streams.Event)),
		router.Get(accountsPath, h.open("accounts", h.accounts)),
		router.Get(sessionsPath, h.open("sessions", h.sessions)),
		router.Post(sessionsPath+"/:id/end", h.act(sessionsPath, h.endSession)),
		router.Get(processesPath, h.open("processes", h.processes)),
	)
}

// timeout bounds a request. A rollback waits for a generation to catch up.
const timeout = 20 * time.Second

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := request.New(w, r)
	c.Header().Set(request.HeaderID, c.ID)
	c.Header().Set("X-Content-Type-Options", "nosniff")
	if !h.Hosts.Knows(r.Host) {
		http.Error(c, "The console of operators is not opened by this host name. Open it by "+
			"an IP address or localhost, or name the host with --admin-hosts.",
			http.StatusMisdirectedRequest)
		return
	}
	if r.TLS == nil && h.Hosts.Has(r.Host) && r.Header.Get("X-Forwarded-Proto") == "https" {
		// A proxy serves the named host by HTTPS, so browsers need the cookies and links of HTTPS.
		secure := *r
		secure.TLS = new(tls.ConnectionState)
		r = &secure
	}
	path, known := router.Canonical(r.URL)
	c.Request = r.WithContext(r.Context())
	c.Request.URL = path
	defer c.Begin(timeout)()
	defer func() {
		if value := recover(); value != nil {
			f := response.ReportPanic(c, h.Logger, value)
			if c.Status != 0 { // else the browser takes a part of a page for the whole
				panic(http.ErrAbortHandler)
			}
			h.WriteFailure(c, f)
		}
	}()
	err := error(&apierror.Error{Code: apierror.CodeInvalidResource})
	if known {
		err = h.routes.ServeHTTPError(c, c.Request)
	}
	if err != nil {
		h.WriteFailure(c, response.Report(c, h.Logger, err))
	}
}

// open returns the handler of a page for operators who have signed in. It answers each error of
// fill that is no refusal as unavailable, because it comes from the database or the event store.
func (h *Handler) open(name string, fill page.Fill) router.Handler {
	return h.SignedIn(name, func(p *page.Page) error { return apierror.Unavailable(fill(p)) })
}

// act returns the handler of a form, as page.Action does. back is the page with the form. It
// answers errors as open does.
func (h *Handler) act(back string, do page.Fill) router.Handler {
	return h.Action(back, func(p *page.Page) error { return apierror.Unavailable(do(p)) })
}

// identify sets the session of a page, or returns a refusal.
func (h *Handler) identify(p *page.Page) error {
	if err := h.Sessions.ResumeOperator(p.C); err != nil {
		return err
	}
	s := p.C.Session
	p.Session = &contract.CurrentSession{ID: s.ID.String(), Operator: true, UserName: "operator"}
	if s.User == uuid.Nil {
		return nil
	}
	person := s.User.String()
	p.Session.User = &person
	known, err := h.Queries.People(p.C.Context(), []uuid.UUID{s.User})
	if err != nil {
		return apierror.Unavailable(err)
	}
	p.Session.UserName = cmp.Or(known[s.User].Label(), "operator")
	return nil
}

// who names an operator for the log.
func who(s accountlist.Session) string {
	if s.User == uuid.Nil {
		return "operator"
	}
	return "person " + s.User.String()
}

// did logs what an operator did with a projection, or tried to.
func (h *Handler) did(p *page.Page, action, projection, stream string, done bool) {
	h.Logger.InfoContext(p.C.Context(), "an operator acts",
		slog.String("action", action), slog.String("projection", projection),
		slog.String("stream", stream), slog.Bool("done", done),
		slog.String("session", p.Session.ID), slog.String("who", who(p.C.Session)),
		slog.String("request", p.C.ID))
}
