package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"linkledger/commands/clicks"
	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page/words"
	"linkledger/httpapi/login"
	"linkledger/httpapi/peer"
	"linkledger/httpapi/session"
	"linkledger/internal/config"
	"linkledger/internal/operators"
	"linkledger/internal/usage"
)

// The names of the secrets that all nodes share.
const (
	identitySecret = "identity" // hashes identities
	signInSecret   = "sign-in"  // authenticates the cookies of sign-ins

	sharedSecretSize = 32 // bytes
)

// identities returns the secret that hashes the identities of people.
func (s *Service) identities(ctx context.Context) ([]byte, error) {
	secret, err := s.stores.Secret(ctx, identitySecret, sharedSecretSize)
	if err == nil && s.db.Keys.Master == nil && s.cfg.OIDCIssuer != "" {
		return nil, usage.Errorf(
			"details of people are stored encrypted only: give --master-key (%s) with "+
				"--oidc-issuer", usage.Env("master-key"),
		)
	}
	return secret, err
}

// signIn returns the configuration of sign-ins, or nil if no issuer is configured.
func (s *Service) signIn(ctx context.Context) (*httpapi.SignIn, error) {
	signIn := s.cfg.Public()
	if signIn == nil {
		return nil, nil //nolint:nilnil // the public listener takes nil for none
	}
	var err error
	signIn.Secret, err = s.stores.Secret(ctx, signInSecret, sharedSecretSize)
	return signIn, err
}

// operatorsURL returns scheme and host of the operators' console. If names are configured, it
// returns the first one with https, because such a name belongs to a proxy with TLS. Otherwise it
// returns the listen address on this machine.
func (s *Service) operatorsURL() string {
	if len(s.cfg.AdminHosts) > 0 {
		return "https://" + s.cfg.AdminHosts[0]
	}
	host, port, err := net.SplitHostPort(s.cfg.AdminListen)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// operatorsConsole returns the console of operators. Its sessions are stored with those of the
// owners' console, but it has another address and its own cookies.
func (s *Service) operatorsConsole(visitorKey []byte) (*operators.Handler, error) {
	return operators.New(operators.Config{
		DB: s.db, Store: s.Store, Queries: s.Reads.Queries,
		Sessions: &session.Sessions{
			Store: s.db.Keys, Queries: s.Reads.Queries, Pseudonyms: peer.NewPseudonyms(visitorKey),
			Proxies: s.cfg.TrustedProxies,
			Origins: http.NewCrossOriginProtection(),
			Guard: login.New(login.Config{
				Refused: s.metrics.Login, Proxies: s.cfg.TrustedProxies, Now: time.Now,
				Logger: s.logger,
			}),
			Now: time.Now, Logger: s.logger,
		},
		Process: operators.Process{
			Version: s.cfg.Version, Roles: rolesText(s.cfg.Roles), Settings: s.cfg.Settings,
			Spool: func() string {
				if s.spool == nil {
					return ""
				}
				return spoolText(s.Visits.Clicks.Stats().Backlog)
			},
		},
		Hosts: s.cfg.AdminHosts, Logger: s.logger,
	})
}

// rolesText returns roles as a text for people.
func rolesText(roles []config.Role) string {
	names := make([]string, len(roles))
	for i, role := range roles {
		names[i] = string(role)
	}
	return strings.Join(names, ", ")
}

// spoolText returns a text for people about the clicks that wait in the spool.
func spoolText(b clicks.Backlog) string {
	if b.Groups == 0 {
		return "empty"
	}
	left := "it does not get emptier"
	if b.Left > 0 {
		left = "empty in about " + words.Duration(b.Left)
	}
	return fmt.Sprintf("%s, %s, the oldest from %s ago; %.0f a second leave, %s",
		apierror.Count(int64(b.Clicks), "click"), apierror.Count(b.Bytes, "byte"),
		words.Duration(b.Age), b.Rate, left)
}
