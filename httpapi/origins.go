package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/cors"

	"linkledger/commands/destination"
	"linkledger/httpapi/auth"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/shortlink"
)

// AnyOrigin in place of a list lets the pages of all origins call the API.
const AnyOrigin = "*"

// preflightAge is how long browsers may remember the answer to a preflight.
const preflightAge = 2 * 60 * 60 // seconds, the most that Chromium takes

// CheckOrigins refuses origins that no browser would send in these spellings: they would never
// match.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		if origin == AnyOrigin && len(origins) > 1 {
			return errors.New("* stands for all origins: give it alone")
		}
		if origin != AnyOrigin && !isOrigin(origin) {
			return fmt.Errorf("%q is not an origin as browsers send it: give scheme, host and "+
				"port alone, in lower case, "+
				"without the usual port of the scheme, such as https://app.example.com or "+
				"http://localhost:3000", origin)
		}
	}
	return nil
}

// isOrigin reports whether a text is the one spelling that browsers have for an origin of the web.
func isOrigin(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || text != parsed.Scheme+"://"+parsed.Host || !shortlink.ValidHost(parsed.Host) {
		return false
	}
	usual := map[string]string{"http": "80", "https": "443"}
	port := parsed.Port()
	host := strings.TrimSuffix(parsed.Host, ":"+port)
	canonical, err := destination.ShortHost(parsed.Scheme + "://" + host)
	if usual[parsed.Scheme] == "" || err != nil || canonical != strings.Trim(host, "[]") {
		return false
	}
	if port == "" {
		return !strings.HasSuffix(parsed.Host, ":")
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(number, 10) == port && port != usual[parsed.Scheme]
}

// newOrigins returns what lets the pages of other origins call the API and read its answers; nil
// where there are none. They send credentials as headers of each call. Cookies and logins that the
// browser keeps never take part.
func newOrigins(origins []string) *cors.Cors {
	if len(origins) == 0 { // which the library takes for all
		return nil
	}
	options := cors.Options{
		// PUT is answered 1302, which a page can read too.
		AllowedMethods: []string{
			http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete,
		},
		AllowedHeaders: []string{
			"Authorization", auth.HeaderUser, auth.HeaderKey, "Content-Type", request.HeaderMethod,
			request.HeaderIdempotencyKey, request.HeaderID,
		},
		ExposedHeaders: []string{
			"Retry-After", "Allow", request.HeaderID, response.HeaderBatchID,
			response.HeaderPosition,
		},
		MaxAge: preflightAge,
	}
	if slices.Contains(origins, AnyOrigin) {
		options.AllowedOrigins = []string{AnyOrigin}
		return cors.New(options)
	}
	// The library's own list ignores case and knows patterns. An origin is one value, which either
	// is listed or not.
	options.AllowOriginVaryRequestFunc = func(r *http.Request, origin string) (bool, []string) {
		return len(r.Header["Origin"]) == 1 && slices.Contains(origins, origin), nil
	}
	return cors.New(options)
}

// shareAnswer adds to an answer what lets the pages of other origins read it. It is true where that
// was all: a preflight is answered without credentials, and asks neither the database nor the event
// store.
func (s *server) shareAnswer(c *request.Context, path string) (answered bool) {
	origins := s.origins
	if path == openapi.Path {
		origins = s.anyOrigin
	}
	if origins == nil {
		return false
	}
	origins.HandlerFunc(c, c.Request)
	return c.Status != 0
}
