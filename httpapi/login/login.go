// Package login has what logins by API key, by session and by one-time link share: which accounts
// and keys may be used, and how refused logins are counted, throttled and logged.
package login

import (
	"log/slog"
	"time"

	"linkledger/commands/access"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/request"
	"linkledger/queries/accountlist"
)

// Refusal says why a login is refused.
type Refusal struct {
	Reason  string // one of the constants
	Code    apierror.Code
	Details string // for the client
	// Guess means that the credentials are wrong. After too many guesses the client gets no reason.
	Guess bool
}

// The reasons of refused logins in log and metrics.
const (
	WithoutCredentials = "no_credentials"
	UnknownUser        = "unknown_user"
	WrongKey           = "wrong_key"
	BadSession         = "bad_session" // no session, an ended one, or a page of another origin
	BadLink            = "bad_link"    // a one-time link that is unknown, was used or has expired
	Narrowed           = "narrowed"    // the key or role has lost rights during the call

	inactive       = "inactive" // deactivated, expired or erased
	expiredKey     = "expired_key"
	foreignNetwork = "foreign_network" // a key that is bound to other networks
	throttled      = "throttled"       // a guess whose response does not state the reason
)

// Err returns the error for the client.
func (r *Refusal) Err() error { return &apierror.Error{Code: r.Code, Details: r.Details} }

// Config configures a Guard. All fields except Proxies are required.
type Config struct {
	// Refused is called for each login that is refused. reason is one of a small set of constants,
	// so it can label a metric.
	Refused func(reason string)
	Proxies peer.Proxies
	Now     func() time.Time
	Logger  *slog.Logger
}

// Guard refuses logins. It is safe for concurrent use.
type Guard struct {
	cfg      Config
	throttle *peer.Throttle
	loginLog *loginLog
}

// New returns a guard that throttles no client yet.
func New(cfg Config) *Guard {
	return &Guard{cfg: cfg, throttle: peer.NewThrottle(), loginLog: newLoginLog()}
}

// Address returns the address of the client of a call.
func (g *Guard) Address(c *request.Context) string { return g.cfg.Proxies.ClientAddress(c.Request) }

// CheckAccount refuses an account that is erased, deactivated or expired.
func (g *Guard) CheckAccount(account accountlist.Account) *Refusal {
	switch {
	case account.Erased:
		return denied(inactive, "The account has been erased")
	case !account.Active:
		return denied(inactive, "The account is not active")
	case account.Expired(g.cfg.Now()):
		return denied(inactive, "The account has expired")
	}
	return nil
}

// CheckKey refuses a key that has expired, or that may not be used from the address of the client.
func (g *Guard) CheckKey(key accountlist.Key, address string) *Refusal {
	terms := key.Terms()
	switch {
	case access.Over(terms.Expires, g.cfg.Now()):
		return denied(expiredKey, "The key has expired")
	case len(terms.Networks) > 0 &&
		!access.AllowFrom(terms.Networks, address):
		return denied(foreignNetwork, "The key may not be used from this address")
	}
	return nil
}

func denied(reason, details string) *Refusal {
	return &Refusal{Reason: reason, Code: apierror.CodeAccessDenied, Details: details}
}

// Count counts a refusal that is not logged.
func (g *Guard) Count(reason string) { g.cfg.Refused(reason) }

// Refuse counts and logs a refusal, and returns the error for the client. The caller MUST have
// compared the credentials before, so that other clients behind the same address cannot lock out a
// client with the right credentials. The throttle limits only how often a guess gets the reason.
// username is the user name that the client claims, or empty.
func (g *Guard) Refuse(c *request.Context, username string, refused *Refusal) error {
	now, client := g.cfg.Now(), g.Address(c)
	tooMany := refused.Guess && g.throttle.Exceeded(client, now)
	reason := refused.Reason
	if tooMany {
		reason = throttled
	}
	g.cfg.Refused(reason)
	if entry, ok := g.loginLog.add(loginSource{clipName(username), client}, now); ok {
		g.cfg.Logger.WarnContext(c.Context(), "login refused",
			slog.String("reason", refused.Reason), slog.Bool("throttled", tooMany),
			slog.String("account", entry.account), slog.String("address", entry.address),
			slog.Int("suppressed", entry.suppressed), slog.Int("suppressed_others", entry.others),
			slog.String("request", c.ID))
	}
	if tooMany {
		c.Header().Set("Retry-After", "1") // a page writes the error without it
		return &apierror.Error{
			Code:    apierror.CodeCallLimit,
			Details: "There were too many bad logins from this address, wait a second",
		}
	}
	return refused.Err()
}
