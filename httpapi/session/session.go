// Package session starts, finds and ends the sessions of browsers. A session is a random secret in
// a cookie. The database has only the hash of the secret.
package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/permit"
	"linkledger/httpapi/agent"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/login"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/httpapi/shortlink"
	"linkledger/queries"
	"linkledger/queries/accountlist"
)

// Store stores the sessions of browsers.
type Store interface {
	// StartSession stores a session, and returns its id and the secret for the browser's cookie.
	// Afterwards either all sessions of the person have the role of an operator, or none has it.
	StartSession(
		ctx context.Context, s accountlist.NewSession, now time.Time,
	) (id uuid.UUID, secret string, err error)
	// UseSession records that a session is used now. used is the time of its last recorded use.
	UseSession(ctx context.Context, id uuid.UUID, used, now time.Time) error
	// MoveSession moves a session to another account of its person. memberAt is the commit position
	// at which the person got the role there.
	MoveSession(ctx context.Context, id, account uuid.UUID, memberAt int64) error
	// EndOperator takes the role of an operator from all sessions of a person, on all nodes.
	EndOperator(ctx context.Context, user uuid.UUID) error
	// EndSession ends a session on all nodes.
	EndSession(ctx context.Context, id uuid.UUID) error
	// EndAtIssuer ends the sessions that an issuer has ended, on all nodes. If the same token was
	// used before, it returns false and ends none.
	EndAtIssuer(ctx context.Context, s accountlist.SignOut, now time.Time) (fresh bool, err error)
	// IDToken returns the ID token with which a session began, or an empty text if none is kept.
	// secret is the secret of the session.
	IDToken(ctx context.Context, id uuid.UUID, secret string) (string, error)
	// UseSignInLink uses up a one-time link and returns the session that the link starts. It
	// returns false if the link does not exist, was used or has expired.
	UseSignInLink(
		ctx context.Context, secret string, now time.Time,
	) (s accountlist.NewSession, ok bool, err error)

	Answers
}

// Answers stores the answers of forms. The name of an answer is a secret of the browser that sent
// the form.
type Answers interface {
	// ClaimAnswer lets one request at a time make the answer of a form. Requests with the same name
	// are repeats of the same form. If claimed is true, the caller makes the answer and stores it
	// with StoreAnswer. Otherwise answer is the stored answer, or nil while another request makes
	// it. After lease, another request may make the answer. owner is who sends the form.
	ClaimAnswer(ctx context.Context, name, owner string, now time.Time, lease time.Duration) (
		answer []byte, claimed bool, err error,
	)
	// StoreAnswer stores the answer of a form until expires. If open is true, the form has changed
	// nothing, and the next request with it may make the answer again.
	StoreAnswer(
		ctx context.Context, name, owner string, answer []byte, open bool, now, expires time.Time,
	) error
	// Answer returns the answer of a form, or nil if it is not stored yet or has expired.
	Answer(ctx context.Context, name string, now time.Time) ([]byte, error)
}

// Sessions starts, finds and ends the sessions of browsers. It is safe for concurrent use.
type Sessions struct {
	Store      Store
	Queries    *queries.DB
	Pseudonyms *peer.Pseudonyms // of the addresses of clients that sign in
	Proxies    peer.Proxies
	Base       shortlink.Base
	Origins    *http.CrossOriginProtection
	Guard      *login.Guard
	Now        func() time.Time
	Logger     *slog.Logger

	// EndURL returns the URL at which a browser signs out at the issuer, or an empty text if there
	// is none. idToken is the ID token with which the session began, or empty. If EndURL is nil,
	// browsers do not sign out at an issuer.
	EndURL func(r *http.Request, idToken string) string
}

// The names of the cookie. Browsers accept a cookie with the first name only over HTTPS and from
// this very host.
const (
	secureCookie = "__Host-linkledger"
	plainCookie  = "linkledger"
)

// IsSecure reports whether browsers reach the service over HTTPS.
func IsSecure(base shortlink.Base, r *http.Request) bool {
	return strings.HasPrefix(base.Of(r), "https://")
}

func (s *Sessions) cookieName(r *http.Request) string {
	if IsSecure(s.Base, r) {
		return secureCookie
	}
	return plainCookie
}

// cookie returns the cookie of a session. If age is 0, the cookie ends with the browser. If age is
// negative, the browser deletes it. SameSite is Lax so that links from other sites open the
// console.
func (s *Sessions) cookie(r *http.Request, secret string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is set wherever HTTPS is used
		Name: s.cookieName(r), Value: secret, Path: "/", MaxAge: age,
		Secure: IsSecure(s.Base, r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// secrets matches the values of the cookie: 32 bytes in base64.
var secrets = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Has reports whether a request has the cookie of a session. The session may have ended.
func (s *Sessions) Has(r *http.Request) bool { return s.secret(r) != "" }

// secret returns the secret of the session of a request, or "" if the request has none.
func (s *Sessions) secret(r *http.Request) string {
	cookies := r.CookiesNamed(s.cookieName(r))
	if len(cookies) != 1 || !secrets.MatchString(cookies[0].Value) {
		return ""
	}
	return cookies[0].Value
}

// CheckOrigin refuses a call that changes something and that a browser made for a page of another
// origin. Browsers add cookies also to such calls.
func (s *Sessions) CheckOrigin(r *http.Request) error {
	if err := s.Origins.Check(r); err != nil {
		return ErrOtherOrigin
	}
	return nil
}

// ErrOtherOrigin refuses a call that a page of another origin caused.
var ErrOtherOrigin = &apierror.Error{
	Code: apierror.CodeAccessDenied, Details: "The call comes from a page of another origin",
}

// IsForeign reports whether a page of another origin causes a request, even if only by a link.
func IsForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// Resume sets c.Session, c.Account and c.Key by the cookie of the request, or refuses the call.
// c.Account has no id if the session has no account, and the account may be inactive. A session
// that a key started is refused after the last day of the key, and from outside the networks of the
// key. A call that a page of another origin caused is refused even if it only reads.
func (s *Sessions) Resume(c *request.Context) error {
	if err := s.refuseForeign(c); err != nil {
		return err
	}
	return s.ResumePage(c)
}

// ResumePage is Resume for a page. Pages of other origins may link to the page, but may not send
// its forms.
func (s *Sessions) ResumePage(c *request.Context) error {
	if err := s.find(c); err != nil {
		return err
	}
	if refused := s.Guard.CheckKey(c.Key, s.Guard.Address(c)); refused != nil {
		return s.Guard.Refuse(c, c.Account.Username, refused)
	}
	s.use(c)
	return nil
}

// ResumeOperator is ResumePage, but refuses a session that is not an operator's. If a key started
// the session, the account of the session must also be usable. If a person started it, the account
// does not matter.
func (s *Sessions) ResumeOperator(c *request.Context) error {
	if err := s.ResumePage(c); err != nil {
		return err
	}
	if c.Session.Key != nil {
		if refused := s.Guard.CheckAccount(c.Account); refused != nil {
			return s.Guard.Refuse(c, c.Account.Username, refused)
		}
	}
	if !c.Session.Operator {
		return errNoOperator
	}
	return nil
}

var errNoOperator = &apierror.Error{
	Code:    apierror.CodeAccessDenied,
	Details: "This is no session of an operator: linkledger console link --operator makes one",
}

// ResumeToEnd is Resume for a call that ends the session. It also accepts a session whose key may
// no longer be used.
func (s *Sessions) ResumeToEnd(c *request.Context) error {
	if err := s.refuseForeign(c); err != nil {
		return err
	}
	return s.find(c)
}

func (s *Sessions) refuseForeign(c *request.Context) error {
	if s.Has(c.Request) && IsForeign(c.Request) {
		s.Guard.Count(login.BadSession)
		return ErrOtherOrigin
	}
	return nil
}

// find sets c.Session, c.Account and c.Key by the cookie of the request. If it refuses the request,
// it counts the refusal.
func (s *Sessions) find(c *request.Context) error {
	session, err := s.load(c)
	if err != nil {
		if _, refused := apierror.Refusal(err); refused {
			s.Guard.Count(login.BadSession)
		}
		return err
	}
	c.Session, c.Account, c.Key = session, session.Account, KeyOf(session)
	return nil
}

func (s *Sessions) load(c *request.Context) (accountlist.Session, error) {
	secret := s.secret(c.Request)
	if secret == "" {
		return accountlist.Session{}, errNoSession
	}
	if err := s.CheckOrigin(c.Request); err != nil {
		return accountlist.Session{}, err
	}
	session, err := s.Queries.Session(c.Context(), secret, s.Now())
	if errors.Is(err, queries.ErrNotFound) {
		s.forget(c)
		return accountlist.Session{}, errNoSession
	}
	return session, apierror.Unavailable(err)
}

// use records that the session of a request is used. The requests with which an open page watches
// for changes do not count, so a page that is left open does not prolong its session.
func (s *Sessions) use(c *request.Context) {
	if request.IsWatch(c.Request) {
		return
	}
	err := s.Store.UseSession(c.Context(), c.Session.ID, c.Session.Used, s.Now())
	if err != nil {
		s.Logger.WarnContext(
			c.Context(), "the use of a session is not stored", slog.Any("error", err),
		)
	}
}

// Current returns the present state of a request's session, or queries.ErrNotFound if the session
// has ended.
func (s *Sessions) Current(ctx context.Context, r *http.Request) (accountlist.Session, error) {
	return s.Queries.Session(ctx, s.secret(r), s.Now())
}

// KeyOf returns the key that started a session. If a person started the session, it returns a key
// with the rights of the person's role.
func KeyOf(s accountlist.Session) accountlist.Key {
	if s.Key != nil {
		return *s.Key
	}
	terms := access.Role(s.Role).Terms()
	return accountlist.Key{Restricted: &terms}
}

var errNoSession = &apierror.Error{
	Code: apierror.CodeInvalidKey, Details: "There is no session, or it has ended: sign in again",
}

// Start starts a session and gives it to the browser. The session that the browser had before ends,
// so that a secret never outlives a sign-in.
func (s *Sessions) Start(c *request.Context, of accountlist.NewSession) (uuid.UUID, error) {
	of.Address = s.Pseudonyms.Of(s.Proxies.ClientAddress(c.Request))
	of.Agent = agent.Describe(c.Request.UserAgent()).String()
	id, secret, err := s.Store.StartSession(c.Context(), of, s.Now())
	if err != nil {
		return uuid.Nil, apierror.Unavailable(err)
	}
	// The former session ends last, because it may be the only one that says that the person is an
	// operator.
	if err := s.endFormer(c); err != nil {
		return uuid.Nil, apierror.Unavailable(err)
	}
	http.SetCookie(c, s.cookie(c.Request, secret, 0))
	return id, nil
}

// endFormer ends the session that a browser has, if it has one.
func (s *Sessions) endFormer(c *request.Context) error {
	secret := s.secret(c.Request)
	if secret == "" {
		return nil
	}
	former, err := s.Queries.Session(c.Context(), secret, s.Now())
	if err == nil {
		err = s.Store.EndSession(c.Context(), former.ID)
	}
	if errors.Is(err, queries.ErrNotFound) {
		return nil
	}
	return err
}

// StartByLink starts the session of a one-time link. It refuses a wrong link, which counts as a
// guess of credentials.
func (s *Sessions) StartByLink(c *request.Context, secret string) error {
	var of accountlist.NewSession
	known := secrets.MatchString(secret)
	if known {
		var err error
		if of, known, err = s.Store.UseSignInLink(c.Context(), secret, s.Now()); err != nil {
			return apierror.Unavailable(err)
		}
	}
	if !known {
		return s.Guard.Refuse(c, "", &login.Refusal{
			Reason: login.BadLink, Code: apierror.CodeAccessDenied,
			Details: "This link was used before or has expired: ask for another", Guess: true,
		})
	}
	_, err := s.Start(c, of)
	return err
}

// End ends a session. When it returns, no node accepts the session any more, and calls of the
// session have stopped. If the call itself belongs to the session, the browser deletes its cookie.
func (s *Sessions) End(c *request.Context, id uuid.UUID) error {
	if err := s.Store.EndSession(c.Context(), id); err != nil {
		return apierror.Unavailable(err)
	}
	if id == c.Session.ID {
		s.forget(c)
	}
	return permit.AwaitEnd(c.Context())
}

// SignOut ends the session of a call as End does. endURL is where the browser signs out at the
// issuer too. It is empty if the person did not sign in there, or if the issuer has no such URL.
func (s *Sessions) SignOut(c *request.Context) (endURL string, err error) {
	if c.Session.User != uuid.Nil && s.EndURL != nil {
		idToken, err := s.Store.IDToken(c.Context(), c.Session.ID, s.secret(c.Request))
		if err != nil {
			return "", apierror.Unavailable(err)
		}
		endURL = s.EndURL(c.Request, idToken)
	}
	return endURL, s.End(c, c.Session.ID)
}

// EndAtIssuer ends the sessions that an issuer has ended, as End does. If the same token was used
// before, it returns false and ends none.
func (s *Sessions) EndAtIssuer(c *request.Context, of accountlist.SignOut) (fresh bool, err error) {
	fresh, err = s.Store.EndAtIssuer(c.Context(), of, s.Now())
	if err != nil || !fresh {
		return false, err
	}
	return true, permit.AwaitEnd(c.Context())
}

func (s *Sessions) forget(c *request.Context) {
	http.SetCookie(c, s.cookie(c.Request, "", -1))
}
