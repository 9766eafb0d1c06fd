package pagetest

// This file helps to test all pages of a console: it has an address for every route, and the fields with which every
// action makes its calls.

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console"
	"linkledger/httpapi/router"
)

// someID is a valid id that nothing has.
const someID = "0c9c1d2e-6a0f-4f55-9b3a-2f1c8f6f1a10"

// ConsolePaths and OperatorPaths turn the routes of the console and of the operators' console into addresses.
var (
	ConsolePaths = strings.NewReplacer(
		":hash", "one", ":label", "news", ":batch", someID, ":secret", "none", ":id", someID,
	)
	OperatorPaths = strings.NewReplacer(":name", "links", ":secret", "none", ":id", "none")
)

// ConsoleFields are fields with which each action of the console makes its calls.
var ConsoleFields = url.Values{
	"long_url": {"https://example.com/x"}, "batch": {someID}, "name": {"x"}, "lines": {"https://example.com/x"},
	"previewed": {Previewed("https://example.com/x")}, "label": {"x"}, "hash": {"one"}, "change": {"archive"},
	"id": {"x"}, "role": {"owner"}, "account": {"acme"}, "text": {"x"},
}

// Previewed returns the name that the preview page of a paste gives to its lines.
func Previewed(lines string) string {
	sum := sha256.Sum256([]byte(lines))
	return hex.EncodeToString(sum[:8])
}

// IsFile reports whether a path is a style sheet or a script that pages load.
func IsFile(path string) bool {
	return strings.HasSuffix(path, ".css") || strings.HasSuffix(path, ".js")
}

// AsksToSignIn reports whether a route leads to a page that asks to sign in. Such a page shows nothing that is stored.
func AsksToSignIn(route router.Route) bool {
	return route.Method == http.MethodGet && strings.HasPrefix(route.Path, console.SignInPath)
}
