package embeddedtest

import (
	"fmt"
	"strings"
)

// OddPaths returns spellings of a method's path that some servers or proxies take for that path.
// The keys describe the spellings.
func OddPaths(method string) map[string]string {
	const service = "event_store.client.streams.Streams"
	path := "/" + service + "/" + method
	var encoded strings.Builder
	for _, b := range []byte(service) {
		fmt.Fprintf(&encoded, "%%%02X", b)
	}
	return map[string]string{
		"as it is":                 path,
		"no slash":                 path[1:],
		"two slashes":              "/" + path,
		"three slashes":            "//" + path,
		"two within":               "/" + service + "//" + method,
		"slash behind":             path + "/",
		"backslash":                `\` + service + `\` + method,
		"backslash first":          `\` + path[1:],
		"dot":                      "/." + path,
		"dot without slash":        "." + path,
		"dots":                     "/x/.." + path,
		"dots within":              "/" + service + "/x/../" + method,
		"upper case":               strings.ToUpper(path),
		"lower case":               strings.ToLower(path),
		"lower case of the method": "/" + service + "/" + strings.ToLower(method),
		"percent":                  "/" + encoded.String() + "/" + method,
		"percent slash":            "%2F" + path[1:],
		"percent slash within":     "/" + service + "%2F" + method,
		"percent twice":            "%252F" + path[1:],
		"absolute":                 "https://store" + path,
		"absolute without host":    "https://" + path,
		"authority":                "//store" + path,
		"query":                    path + "?x=1",
		"fragment":                 path + "#x",
		"parameter":                path + ";x=1",
		"space first":              " " + path,
		"space behind":             path + " ",
		"tab":                      "\t" + path,
		"zero":                     path + "\x00",
		"zero first":               "\x00" + path,
		"line":                     path + "\r\nauthorization: Basic x",
		"full-width slash":         "\uff0f" + service + "\uff0f" + method,
		"zero width":               "\u200b" + path,
		"prefix":                   "/v1" + path,
		"no method":                "/" + service + "/",
		"no service":               "/" + method,
		"open, then closed":        "/event_store.client.gossip.Gossip/Read" + path,
		"gossip's method":          "/event_store.client.gossip.Gossip/" + method + "x",
		"empty":                    "",
		"slash":                    "/",
		"star":                     "*",
		"dotted":                   "/" + service + "." + method,
	}
}
