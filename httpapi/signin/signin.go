// Package signin signs people in with OpenID Connect: it records what the issuer says of them,
// gives them the roles of their groups, and starts the session of their browser.
package signin

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bunrouter"
	"golang.org/x/time/rate"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/domain"
	"linkledger/commands/people"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/begun"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// The paths of a sign-in.
const (
	BeginPath    = "/console/openid"
	CallbackPath = "/console/callback"
	SignOutPath  = "/console/openid/sign-out" // to which the issuer sends sign-out tokens
)

// Config configures a Handler. All fields except Groups are required.
type Config struct {
	OpenID   openid.Config // without OnDiscovery and OnClient, which New sets
	People   *people.People
	Accounts *accounts.Accounts
	Queries  *queries.DB
	Sessions *session.Sessions
	Groups   []access.GroupRole // the first one counts if several give a role in one account
	AskPath  string             // of the page that asks people to sign in
	// AwaitAccounts waits until the read models show all events up to a commit position. It returns
	// false if that takes too long, or if an event that ends rights cannot take effect.
	AwaitAccounts func(c *request.Context, position uint64) bool
	Base          shortlink.Base
	Proxies       peer.Proxies
	Now           func() time.Time
	// Refused is called for each sign-in that is refused.
	Refused func(reason string)
	Logger  *slog.Logger
}

// Handler handles the sign-ins.
type Handler struct {
	Config

	provider *openid.Provider
	issuer   *fault
	client   *fault // the issuer refuses this service as its client
	missing  *fault // accounts of groups do not exist

	// throttle bounds how often an address makes the service ask the issuer.
	throttle *peer.Throttle
	signOuts *peer.Throttle // bounds how often an address sends wrong sign-out tokens
	logs     *rate.Limiter  // of refused sign-ins, which anybody can cause
}

// maxLogged is how many refused sign-ins in a row are logged. After that, one is logged each
// second.
const maxLogged = 20

// New returns a handler.
func New(cfg Config) *Handler {
	h := &Handler{
		Config: cfg, throttle: peer.NewThrottle(), signOuts: peer.NewThrottle(),
		logs: rate.NewLimiter(rate.Every(time.Second), maxLogged),
		issuer: newFault(cfg.Logger, "people cannot sign in with OpenID Connect: see --oidc-issuer",
			"people can sign in with OpenID Connect again"),
		client: newFault(cfg.Logger, "people cannot sign in with OpenID Connect: see "+
			"--oidc-client-id and --oidc-client-secret",
			"the issuer accepts this service as its client again"),
		missing: newFault(cfg.Logger, "the account of a group does not exist: see --oidc-groups",
			"the accounts of all groups exist"),
	}
	h.OpenID.OnDiscovery, h.OpenID.OnClient = h.issuer.report, h.client.report
	h.provider = openid.New(h.OpenID)
	return h
}

// refusedReason is the reason of refused sign-ins in the metrics.
const refusedReason = "sign_in"

// Routes returns the routes of the sign-in.
func (h *Handler) Routes() []router.Route {
	return []router.Route{
		router.Get(BeginPath, h.handle(h.begin)),
		router.Get(CallbackPath, h.handle(h.finish)),
		router.Post(SignOutPath, h.signOut),
	}
}

// handle returns a handler that redirects the browser to where next says.
func (h *Handler) handle(
	next func(c *request.Context) (location string, err error),
) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, r bunrouter.Request) error {
		c := request.Of(w, r)
		location, err := next(c)
		if err != nil {
			return h.explained(c, err)
		}
		c.Header().Set("Cache-Control", "no-store")
		c.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(c, c.Request, location, http.StatusSeeOther)
		return nil
	}
}

// EndURL returns the URL at which a browser signs out at the issuer, or an empty text if the issuer
// has none. The issuer then sends the browser to the page that asks people to sign in. idToken is
// the ID token with which the session began, or empty.
func (h *Handler) EndURL(r *http.Request, idToken string) string {
	return h.provider.EndURL(idToken, h.Base.Of(r)+h.AskPath)
}

// begin returns the URL of the issuer at which a person signs in. If a page of another origin
// caused the request, begin returns the page that asks people to sign in. So no such page can make
// a browser sign in.
func (h *Handler) begin(c *request.Context) (string, error) {
	back := c.Request.URL.Query().Get("return")
	if session.IsForeign(c.Request) {
		return h.AskPath + "?return=" + url.QueryEscape(begun.LocalPath(back)), nil
	}
	return h.provider.Begin(c, c.Request, back)
}

func (h *Handler) finish(c *request.Context) (string, error) {
	if c.Request.Method != http.MethodGet {
		return "", &apierror.Error{Code: apierror.CodeMethodNotSupported}
	}
	if h.throttle.Exceeded(h.Proxies.ClientAddress(c.Request), h.Now()) {
		return "", errTooMany
	}
	identity, returnTo, err := h.provider.Finish(c, c.Request)
	if err != nil {
		return "", err
	}
	started := accountlist.NewSession{
		Operator: h.isOperator(identity), KeepOperator: h.mayBeOperator(identity),
		IssuerSID: identity.Session.Key, IDToken: identity.Session.IDToken,
	}
	if started.User, err = h.record(c, identity, started); err != nil {
		return "", err
	}
	if err := h.choose(c.Context(), &started); err != nil {
		return "", apierror.Unavailable(err)
	}
	_, err = h.Sessions.Start(c, started)
	return returnTo, err
}

// choose sets the account in which a session begins: the account of the person's last session, or
// the only account that they are a member of. If there are several, the person has to choose.
func (h *Handler) choose(ctx context.Context, s *accountlist.NewSession) error {
	memberships, err := h.Queries.Memberships(ctx, s.User)
	if err != nil {
		return err
	}
	last, err := h.Queries.LastAccount(ctx, s.User)
	for _, m := range memberships {
		if m.Account == last || len(memberships) == 1 {
			s.Account, s.MemberAt = m.Account, m.Changed
		}
	}
	return err
}

// record records a person and the roles of the person, and returns the person's id once the read
// models show both. If the person is no longer an operator, record ends that role first, so that a
// later failure cannot preserve it.
func (h *Handler) record(
	c *request.Context, identity openid.Identity, of accountlist.NewSession,
) (uuid.UUID, error) {
	command := uuid.New()
	r := domain.Request{
		Operator: true, Via: events.ViaConsole, ID: c.ID, Command: command,
		Batch: command.String(),
	}
	known, err := h.People.Known(c.Context(), r, events.Details{
		Issuer: identity.Issuer, Subject: identity.Subject, Mail: identity.Mail,
		Name: identity.Name,
	})
	if err != nil {
		return uuid.Nil, err
	}
	user, err := uuid.Parse(known.Person.ID)
	if err != nil {
		return uuid.Nil, fmt.Errorf("id of a person: %w", err)
	}
	if !of.Operator && !of.KeepOperator {
		if err := h.Sessions.Store.EndOperator(c.Context(), user); err != nil {
			return uuid.Nil, apierror.Unavailable(err)
		}
	}
	if !h.AwaitAccounts(c, known.Position.Commit) {
		return uuid.Nil, errLate
	}
	r.User = known.Person.ID
	at, err := h.applyGroups(c.Context(), r, user, identity)
	if err != nil {
		return uuid.Nil, err
	}
	if !h.AwaitAccounts(c, at) {
		return uuid.Nil, errLate
	}
	return user, nil
}

var errTooMany = &apierror.Error{
	Code:    apierror.CodeCallLimit,
	Details: "There were too many sign-ins from this address, wait a second",
}

var errLate = apierror.Late("The sign-in takes too long, try again")
