package openid

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// CheckIssuer returns an error if a text is not the URL of an issuer. Such a URL has https, or http
// and a loopback host. It has no user, no query and no fragment.
func CheckIssuer(issuer string) error {
	parsed, err := url.Parse(issuer)
	switch {
	case err != nil:
		return errors.New("the issuer is not a URL") // the error would show a password
	case parsed.User != nil:
		return errors.New("the issuer has a user name")
	case strings.ContainsAny(issuer, "?#"):
		return fmt.Errorf("issuer %q has a query or a fragment", issuer)
	case !trustworthy(parsed):
		return fmt.Errorf("issuer %q is not of the form https://host/path", issuer)
	}
	return nil
}

// trustworthy reports whether nothing between the service and the host of a URL can pose as the
// host: the scheme is https, or it is http and the host is loopback.
func trustworthy(parsed *url.URL) bool {
	host := parsed.Hostname()
	return host != "" && (parsed.Scheme == "https" || parsed.Scheme == "http" && loopback(host))
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
