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

// AnyOrigin as the only origin permits the pages of all origins to call the API.
const AnyOrigin = "*"

// preflightAge is how long browsers may cache the response to a preflight.
const preflightAge = 2 * 60 * 60 // seconds, the maximum of Chromium

// CheckOrigins returns an error if an origin is not in the spelling that browsers send, because
// such an origin would never match.
func CheckOrigins(origins []string) error {
	for _, origin := range origins {
		if origin == AnyOrigin && len(origins) > 1 {
			return errors.New("* stands for all origins: give it alone")
		}
		if origin != AnyOrigin && !isOrigin(origin) {
			return fmt.Errorf("%q is not an origin as browsers send it: give scheme, host and "+
				"port alone, in lower case, without the usual port of the scheme, such as "+
				"https://app.example.com or http://localhost:3000", origin)
		}
	}
	return nil
}

// isOrigin reports whether a text is an HTTP or HTTPS origin in the spelling that browsers send.
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

// newCORS returns the CORS policy that permits the pages of origins to call the API and to read its
// responses. It returns nil if there are no origins. Pages send credentials as headers of each
// call. The policy does not allow cookies or logins that the browser stores.
func newCORS(origins []string) *cors.Cors {
	if len(origins) == 0 { // the library would permit all origins
		return nil
	}
	options := cors.Options{
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
			response.HeaderPosition, response.HeaderBehind,
		},
		MaxAge: preflightAge,
	}
	if slices.Contains(origins, AnyOrigin) {
		options.AllowedOrigins = []string{AnyOrigin}
		return cors.New(options)
	}
	// The library's own list ignores case and expands patterns. Here a request needs exactly one
	// Origin header, and its value must equal an entry.
	options.AllowOriginVaryRequestFunc = func(r *http.Request, origin string) (bool, []string) {
		return len(r.Header["Origin"]) == 1 && slices.Contains(origins, origin), nil
	}
	return cors.New(options)
}

// applyCORS adds the CORS headers to a response. It returns true if the request is a preflight,
// whose whole response it wrote. A preflight needs no credentials, so it must not cost a query of
// the database or the event store.
func (s *Server) applyCORS(c *request.Context, path string) (answered bool) {
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
