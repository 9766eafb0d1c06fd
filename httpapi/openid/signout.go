package openid

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"linkledger/httpapi/openid/claims"
)

// Session is the session at the issuer, as the ID token of a sign-in names it.
type Session struct {
	// Key is a keyed hash of the id of the session, or nil if the ID token has no id of a session.
	Key []byte
	// IDToken is the ID token of the sign-in, for EndURL.
	IDToken string
}

// SignOut is the statement of an issuer that a session has ended there.
type SignOut struct {
	Issuer  string
	Subject string // the person; empty: not said
	Session []byte // like Session.Key; nil: all sessions of the person have ended
	// ID is a keyed hash of the id of the token. Before Expires, the caller MUST ignore another
	// token with the same id. From then on, Provider.SignOut refuses such a token.
	ID      []byte
	Expires time.Time
}

const (
	// signOutAge is how old a sign-out token may be, and how far ahead the clock of the issuer may
	// be.
	signOutAge = 5 * time.Minute
	// maxID is the length of the longest id of a session or a token.
	maxID = 512
)

// EndURL returns the URL at which a browser signs out at the issuer. The issuer then redirects the
// browser to back. The URL is empty if the issuer has none, or if its metadata were not fetched
// yet. idToken is the ID token of the sign-in. If it is empty, the issuer may ask the person to
// confirm.
func (p *Provider) EndURL(idToken, back string) string {
	at := p.known()
	if at == nil || at.EndURL == "" {
		return ""
	}
	end, err := url.Parse(at.EndURL)
	if err != nil { // metadata.check has parsed it
		return ""
	}
	query := end.Query()
	query.Set("client_id", p.cfg.ClientID)
	query.Set("post_logout_redirect_uri", back)
	if idToken != "" {
		query.Set("id_token_hint", idToken)
	}
	end.RawQuery = query.Encode()
	return end.String()
}

// known returns the metadata of the issuer, or nil if they were not fetched yet. It does not wait.
func (p *Provider) known() *metadata {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil {
		return nil
	}
	select {
	case <-p.found.done:
		return p.found.says
	default:
		return nil
	}
}

// SignOut verifies and reads a sign-out token (OpenID Connect Back-Channel Logout 1.0). It fails
// with ErrInvalid if the token is not valid, and with ErrUnavailable or ErrMisconfigured if the
// token cannot be verified.
func (p *Provider) SignOut(ctx context.Context, token string) (SignOut, error) {
	at, err := p.discovered(ctx)
	if err != nil {
		return SignOut{}, err
	}
	verified, found, err := p.verifySigned(ctx, at, token, &oidc.Config{SkipExpiryCheck: true})
	if err != nil {
		return SignOut{}, err
	}
	// An expiry is checked only if the token has one: the standard has not always asked for one,
	// and some issuers send none.
	now, issued := p.cfg.Now(), verified.IssuedAt
	switch {
	case now.Sub(issued).Abs() > signOutAge:
		return SignOut{}, fmt.Errorf("%w: the time of the sign-out (iat) is missing, or more than "+
			"%s from now", ErrInvalid, signOutAge)
	case !verified.Expiry.IsZero() && verified.Expiry.Add(signOutAge).Before(now):
		return SignOut{}, fmt.Errorf("%w: the sign-out has expired", ErrInvalid)
	case found["nonce"] != nil: // an ID token has one
		return SignOut{}, fmt.Errorf("%w: the token belongs to a sign-in", ErrInvalid)
	case !found.IsSignOut():
		return SignOut{}, fmt.Errorf("%w: the token is not a sign-out token", ErrInvalid)
	}
	out := SignOut{Issuer: at.Issuer, Expires: issued.Add(2 * signOutAge)}
	if found["sub"] != nil {
		if out.Subject, err = found.Subject(); err != nil {
			return SignOut{}, invalid(err)
		}
	}
	if out.Session, err = p.keyOf(at, found, "sid"); err != nil {
		return SignOut{}, err
	}
	if out.ID, err = p.keyOf(at, found, "jti"); err != nil {
		return SignOut{}, err
	}
	if out.ID == nil || out.Session == nil && out.Subject == "" {
		return SignOut{}, fmt.Errorf("%w: the sign-out lacks jti, or both sid and sub", ErrInvalid)
	}
	return out, nil
}

// keyOf returns a keyed hash of the id in a claim, or nil if there is none. The hash hides the id
// from readers of the database.
func (p *Provider) keyOf(at *metadata, of claims.Claims, claim string) ([]byte, error) {
	id, err := of.Text(claim)
	if err != nil {
		return nil, invalid(err)
	}
	if id == "" {
		return nil, nil
	}
	if len(id) > maxID {
		return nil, fmt.Errorf("%w: claim %s has more than %d bytes", ErrInvalid, claim, maxID)
	}
	mac := hmac.New(sha256.New, p.cfg.Secret)
	mac.Write([]byte(strings.Join([]string{claim, at.Issuer, id}, "\n")))
	return mac.Sum(nil), nil
}
