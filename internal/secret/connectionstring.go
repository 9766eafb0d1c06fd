package secret

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// shownSettings are the keys, in lower case, whose values are not secret and are printed. Of an
// unknown setting not even the key is printed, because it may be a part of a password that was not
// encoded.
var shownSettings = []string{
	// Settings of PostgreSQL.
	"application_name", "channel_binding", "client_encoding", "connect_timeout", "database",
	"dbname", "host", "hostaddr", "krbsrvname", "lock_timeout", "max_protocol_version",
	"min_protocol_version", "passfile", "pool_max_conns", "pool_min_conns", "port",
	"require_auth", "search_path", "service", "servicefile", "ssl", "sslcert", "sslcertmode",
	"sslcrl", "sslkey", "sslmode", "sslnegotiation", "sslrootcert", "sslsni", "statement_timeout",
	"target_session_attrs", "timezone", "user",
	// Settings of EventStoreDB.
	"defaultdeadline", "discoveryinterval", "gossiptimeout", "keepaliveinterval",
	"keepalivetimeout", "maxdiscoverattempts", "nodepreference", "tls", "tlscafile",
	"tlsverifycert", "usercertfile", "userkeyfile",
}

// secretSettings are the keys, in lower case, that are printed without their values.
var secretSettings = []string{"password", "sslpassword"}

var (
	schemeForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9._~+-]*$`)
	pathForm   = regexp.MustCompile(`^(/[A-Za-z0-9._~-]*)?$`)
	valueForm  = regexp.MustCompile(`^[A-Za-z0-9._~+,:/\\ -]*$`)
	// wordForm matches KEY=VALUE and the space after it.
	wordForm = regexp.MustCompile(
		`^([A-Za-z0-9_.]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(\s+|$)`,
	)
)

// redactConnection returns a connection string without its secrets: a URL, or PostgreSQL's
// KEY=VALUE form. It keeps only parts that are known not to be secret. If a string does not have
// one of these forms exactly, only its scheme is kept, because the place of its secrets is not
// known.
func redactConnection(text string) string {
	if text == "" {
		return ""
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	if !isURL || !schemeForm.MatchString(scheme) {
		if words, ok := redactWords(text); ok {
			return words
		}
		return hidden
	}
	if printed, ok := redactURL(rest); ok {
		return scheme + "://" + printed
	}
	return scheme + "://" + hidden
}

// quotedURL matches a URL in a message and all text after it. The URL may have any characters, so
// the end of the URL is not known.
var quotedURL = regexp.MustCompile(`(?s)[A-Za-z][A-Za-z0-9+.-]*://.*`)

// Redact returns a message about the command line without the secrets of a URL in it.
func Redact(message string) string {
	return quotedURL.ReplaceAllStringFunc(message, redactConnection)
}

// redactURL removes the secrets from a URL. rest is the URL after its ://. It returns false if the
// form of the URL is not known.
func redactURL(rest string) (string, bool) {
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	login, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		login, hosts = authority[:at+1], authority[at+1:]
	}
	// net/url accepts one host only, but the URL of a cluster has several.
	u, err := url.Parse("x://" + login + "host" + tail)
	switch {
	case err != nil, strings.ContainsAny(tail, "@#"), !pathForm.MatchString(u.EscapedPath()):
		// The parts may belong to a password that was not encoded.
		return "", false
	case slices.ContainsFunc(strings.Split(hosts, ","), invalidHost):
		return "", false
	}
	printed := ""
	if u.User != nil {
		printed = u.User.Username()
		if !userForm.MatchString(printed) {
			printed = hidden
		}
		if _, protected := u.User.Password(); protected {
			printed += ":" + hidden
		}
		printed += "@"
	}
	printed += hosts + u.EscapedPath()
	if u.RawQuery == "" {
		return printed, true
	}
	var settings []string
	for setting := range strings.SplitSeq(u.RawQuery, "&") {
		key, value, _ := strings.Cut(setting, "=")
		settings = append(settings, redactSetting(key, value, url.QueryUnescape))
	}
	return printed + "?" + strings.Join(settings, "&"), true
}

// Encoded reports whether the password in a URL seems to be percent-encoded. Otherwise parts of the
// password would be read as a host, a path or a setting, and errors would show them.
func Encoded(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return true
	}
	path, query, _ := strings.Cut(rest[end:], "?")
	if strings.ContainsAny(path, "@:") || strings.Contains(rest[end:], "#") {
		return false
	}
	for setting := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(setting, "="); strings.ContainsAny(key, "@:") {
			return false
		}
	}
	return true
}

// invalidHost reports whether a text is not a name or an address with an optional port.
func invalidHost(host string) bool {
	if inner, port, bracketed := strings.Cut(host, "]"); bracketed {
		_, err := netip.ParseAddr(strings.TrimPrefix(inner, "["))
		return err != nil || !strings.HasPrefix(inner, "[") || port != "" && invalidPort(port)
	}
	name, _, hasPort := strings.Cut(host, ":")
	return !hostForm.MatchString(name) || hasPort && invalidPort(host[len(name):])
}

// invalidPort reports whether a text is not a colon and a port number.
func invalidPort(port string) bool {
	_, err := strconv.ParseUint(strings.TrimPrefix(port, ":"), 10, 16)
	return err != nil || !strings.HasPrefix(port, ":")
}

// redactWords returns a connection string in PostgreSQL's form KEY=VALUE KEY='VALUE' without its
// secrets. It returns false if the text is not of this form.
func redactWords(text string) (string, bool) {
	var words []string
	for rest := strings.TrimSpace(text); rest != ""; {
		word := wordForm.FindStringSubmatch(rest)
		if word == nil {
			return "", false
		}
		unquoted := func(value string) (string, error) { return strings.Trim(value, "'"), nil }
		words = append(words, redactSetting(word[1], word[2], unquoted))
		rest = rest[len(word[0]):]
	}
	return strings.Join(words, " "), true
}

// redactSetting returns a setting unchanged if it is known and not secret, and hides it otherwise.
func redactSetting(key, value string, decode func(string) (string, error)) string {
	name, err := url.QueryUnescape(key)
	name = strings.ToLower(name)
	decoded, malformed := decode(value)
	switch {
	case err != nil, malformed != nil:
		return hidden
	case slices.Contains(secretSettings, name):
		return name + "=" + hidden
	case !slices.Contains(shownSettings, name):
		return hidden
	case !valueForm.MatchString(decoded):
		return name + "=" + hidden
	}
	return key + "=" + value
}
