package shortlink

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
)

// hosts matches the values of a Host header that may be the host of short links.
var hosts = regexp.MustCompile(
	`^[A-Za-z0-9._-]{1,253}(:[0-9]{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?$`,
)

// ValidHost reports whether a text is a host with an optional port.
func ValidHost(host string) bool { return hosts.MatchString(host) }

// Base is scheme://host[:port] of the short links. If empty, it is taken from the request.
type Base string

// Check returns an error if the base is neither empty nor scheme://host[:port].
func (b Base) Check() error {
	base := string(b)
	if base == "" {
		return nil
	}
	parsed, err := url.Parse(base)
	if err != nil {
		return fmt.Errorf("base URL: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" ||
		base != parsed.Scheme+"://"+parsed.Host || !ValidHost(parsed.Host) {
		return fmt.Errorf("base URL %q is not of the form http://host or https://host", base)
	}
	return nil
}

// Of returns scheme://host[:port] of the short links in the response to a request.
func (b Base) Of(r *http.Request) string {
	if b != "" {
		return string(b)
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
