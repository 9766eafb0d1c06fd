package words

// This file has the words for fields, scopes, durations and refusals of the API.

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"linkledger/httpapi/contract"
)

// fields are the words for the fields of a link and of a call.
var fields = map[string]string{
	"long_url": "destination", "hash": "hash", "custom_hash": "hash", "note": "note",
	"email_stats": "daily report", "ping": "watch", "protected": "protected",
	"archived": "archived", "expiration_date": "last day", "max_clicks": "most clicks",
	"tags": "tags", "deleted": "deleted", "claimed_by": "used by a link",
	"order_by": "order", "at": "time", "urls": "links", "total_clicks": "clicks",
}

// Field returns the word for a field of the API. A field without a word of its own keeps its name,
// with spaces.
func Field(name string) string {
	if word, ok := fields[name]; ok {
		return word
	}
	return strings.ReplaceAll(name, "_", " ")
}

// scopes says what each scope allows, in words that follow "may".
var scopes = map[string]string{
	"links:read": "see links", "links:create": "make links", "links:write": "change links",
	"stats:read": "see clicks", "stats:reset": "reset clicks", "tags:write": "change tags",
	"history:read": "see the history", "keys": "make and revoke keys", "keys:read": "see keys",
	"members": "change members", "members:read": "see members",
	"webhooks": "change webhooks", "webhooks:read": "see webhooks",
}

// Scope says what a scope allows. For a scope that this version does not know, it returns the name.
func Scope(name string) string {
	if word, ok := scopes[name]; ok {
		return word
	}
	return name
}

// scopeWords says what scopes allow. An empty list allows everything.
func scopeWords(names []string) string {
	if len(names) == 0 {
		return "everything"
	}
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = Scope(name)
	}
	return strings.Join(words, ", ")
}

// ways are the words for the interfaces through which changes are made.
var ways = map[string]string{
	"api": "by the API", "console": "in the console", "cli": "on the command line",
}

// way returns the words for the interface through which a change was made.
func way(via string) string {
	if words, ok := ways[via]; ok {
		return words
	}
	return via
}

// Duration returns a duration in its two largest units, such as 3 min 5 s.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	whole := func(n time.Duration, unit string) string {
		return strconv.FormatInt(int64(n), 10) + " " + unit
	}
	pair := func(large, small time.Duration, names [2]string) string {
		text := whole(d/large, names[0])
		if rest := d % large / small; rest > 0 {
			text += " " + whole(rest, names[1])
		}
		return text
	}
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return whole(d/time.Millisecond, "ms")
	}
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return whole(d/time.Second, "s")
	case d < time.Hour:
		return pair(time.Minute, time.Second, [2]string{"min", "s"})
	case d < day:
		return pair(time.Hour, time.Minute, [2]string{"h", "min"})
	}
	return pair(day, time.Hour, [2]string{"d", "h"})
}

// sentences replace the short messages of the API's contract in pages.
var sentences = map[string]string{
	"Unknown error":          "Something went wrong here. Try again",
	"Access Denied":          "You may not do this",
	"URL not found in DB":    "There is no such link",
	"Tag not found":          "There is no such tag",
	"Invalid resource":       "There is nothing at this address",
	"Method not supported":   "Nothing can be done that way at this address",
	"Invalid API key":        "The key is not one of this account",
	"Invalid date":           "This is not a date",
	"API call limit reached": "There were too many calls, wait a little",

	"Wrong number of input parameters":        "Something that was given is wrong",
	"Missing input parameters":                "Something is missing",
	"URL you tried to shorten was invalid":    "The destination is not an address of the web",
	"URL you tried to shorten is not allowed": "The destination is not allowed here",
	"Short URL is not correct or existed":     "The hash is wrong or in use",
	"Invalid or duplicate tag label":          "The label is wrong, or a tag has it already",
	"Too big POST data":                       "This is too long",
}

// lacks begins the refusal of callers who lack scopes.
const lacks = "The caller lacks the scope "

// named matches the names of fields in the refusals of the API, with the item that has them. It
// also matches quoted texts: people have typed them, so they are not replaced.
var named = regexp.MustCompile(
	`"[^"]*"|\b(?:urls\[\d+\]\.)?(long_url|custom_hash|email_stats|expiration_date|max_clicks|` +
		`order_by|total_clicks|claimed_by)\b|\burls\[\d+\]\.`,
)

// Refusal returns the reason of a refusal as people read it: whole sentences without the names of
// fields and scopes.
func Refusal(reason string) string {
	if sentence, ok := sentences[reason]; ok {
		return sentence
	}
	if missing, ok := strings.CutPrefix(reason, lacks); ok {
		return "You may not " + scopeWords(strings.Split(missing, ", ")) + " here"
	}
	if allowed, ok := strings.CutPrefix(reason, "Supported are "); ok && allowed != "" {
		return sentences["Method not supported"]
	}
	text := named.ReplaceAllStringFunc(reason, func(found string) string {
		if found[0] == '"' {
			return found
		}
		_, field, item := strings.Cut(found, "].")
		if !item {
			field = found
		}
		return fields[field]
	})
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || strings.HasPrefix(text, "http") {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// Reason returns why an item of a call was refused, or "".
func Reason(item *contract.ItemError) string {
	if item == nil || item.Code == 0 {
		return ""
	}
	return Refusal(cmp.Or(item.Details, item.Message))
}

// Are returns a number of things with a verb, such as "1 link is" or "2 links are".
func Are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return strconv.Itoa(n) + " " + thing + "s are"
}

// cutText is a text that a list shows shortened.
type cutText struct {
	Short string // empty: Whole is short
	Whole string
}

// endPart divides the length of a text that is cut in the middle: a third is from the end of the
// text. The beginning of an address names the site, and the end names the page.
const endPart = 3

// cut cuts a text in the middle if it has more than most code points.
func cut(most int, text string) cutText {
	all := []rune(text)
	if len(all) <= most {
		return cutText{Whole: text}
	}
	end := most / endPart
	return cutText{string(all[:most-end-1]) + "…" + string(all[len(all)-end:]), text}
}
