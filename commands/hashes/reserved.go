package hashes

import (
	"slices"
	"strings"
)

// served are the first segments of the paths that the service itself answers, as it spells them.
// Names with a dot are not listed, because they are no hashes.
var served = []string{"v3", "console"}

// reserved are further names, in lower case, that look like parts of the service, so that a link
// cannot pretend to be one.
var reserved = []string{
	"account", "accounts", "admin", "administrator", "api", "app", "assets", "auth", "callback",
	"dashboard", "debug", "docs", "favicon", "graphql", "health", "healthz", "livez", "login",
	"logout", "metrics", "oauth", "oauth2", "oidc", "openapi", "openid", "operator", "operators",
	"password", "pprof", "ready", "readyz", "robots", "security", "session", "sessions",
	"sign-in", "sign-out", "sign-up", "signin", "signout", "signup", "sitemap", "sso", "static",
	"status", "swagger", "webhook", "webhooks", "well-known",
}

// Served reports whether the service itself answers the paths that begin with a hash. It is
// case-sensitive, as paths are: older links may have such a name in another case.
func Served(hash string) bool { return slices.Contains(served, hash) }

// Reserved reports whether no link may get a hash, whatever its case. Paths that begin with such a
// hash are served, may be served by a later version of the API, or look like paths of the service.
// An existing link keeps such a hash.
func Reserved(hash string) bool {
	hash = strings.ToLower(hash)
	return Served(hash) || slices.Contains(reserved, hash) || isVersion(hash)
}

// isVersion reports whether a hash looks like the root of a version of the API, such as v4.
func isVersion(hash string) bool {
	number, ok := strings.CutPrefix(hash, "v")
	return ok && number != "" && len(number) <= 2 && strings.Trim(number, "0123456789") == ""
}
