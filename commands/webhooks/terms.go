package webhooks

// This file has the rules for the terms and the target of a webhook.

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/tagexpr"
)

// The kinds of events that a webhook can get. Their names are part of the API.
const (
	LinkCreated   = "link.created"
	LinkChanged   = "link.changed"
	LinkRenamed   = "link.renamed"
	LinkDeleted   = "link.deleted"
	LinkRestored  = "link.restored"
	TagCreated    = "tag.created"
	TagRenamed    = "tag.renamed"
	TagDeleted    = "tag.deleted"
	StatsReset    = "stats.reset"
	StatsRestored = "stats.restored" // a reset was undone
	Click         = "click"
	LimitReached  = "limit.reached" // a link has used up max_clicks
)

// Kinds returns all kinds of events.
func Kinds() []string {
	return []string{
		LinkCreated, LinkChanged, LinkRenamed, LinkDeleted, LinkRestored,
		TagCreated, TagRenamed, TagDeleted, StatsReset, StatsRestored, Click, LimitReached,
	}
}

// Limits of webhooks.
const (
	MaxWebhooks = 100 // of an account
	MaxLinks    = 100 // of a webhook
	maxURL      = 2048
)

// Gets reports whether a webhook gets events of a kind.
func (w *Webhook) Gets(kind string) bool {
	return len(w.Kinds) == 0 || slices.Contains(w.Kinds, kind)
}

// checked returns terms in their stored form, each kind and each link once. It refuses with
// InvalidWebhook.
func checked(terms events.WebhookTerms) (events.WebhookTerms, error) {
	var kinds []string
	for _, kind := range Kinds() {
		if slices.Contains(terms.Kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range terms.Kinds {
		if !slices.Contains(kinds, kind) {
			return terms, refuse("kinds: there is no kind %q; the kinds are %s", kind,
				strings.Join(Kinds(), ", "))
		}
	}
	terms.Kinds = kinds
	terms.Links = distinct(terms.Links)
	if len(terms.Links) > MaxLinks {
		return terms, refuse("urls: a webhook is about at most %d URLs", MaxLinks)
	}
	switch terms.Format {
	case "":
	case events.FormatTinyCC:
		if !slices.Equal(terms.Kinds, []string{Click}) {
			return terms, refuse("format: %q is a format of clicks, so kinds must be [%q]",
				terms.Format, Click)
		}
	default:
		return terms, refuse("format: there is no format %q; leave it empty, or use %q",
			terms.Format, events.FormatTinyCC)
	}
	terms.Tags = strings.TrimSpace(terms.Tags)
	return terms, checkTags(terms.Tags)
}

// distinct returns each link once; nil: there are none.
func distinct(links []events.WebhookLink) (once []events.WebhookLink) {
	for _, link := range links {
		if !slices.ContainsFunc(once, func(l events.WebhookLink) bool { return l.ID == link.ID }) {
			once = append(once, link)
		}
	}
	return once
}

// checkTags refuses a tag expression that cannot be parsed, or that depends on clicks: a payload is
// made from the log, which does not count them.
func checkTags(tags string) error {
	if tags == "" {
		return nil
	}
	expr, err := tagexpr.Parse(tags)
	if err != nil {
		return refuse("tags: cannot be read %v", err)
	}
	if expr.DependsOnClicks() {
		return refuse("tags: a webhook cannot depend on clicks: leave out visited")
	}
	return nil
}

// checkURL refuses an address that is not an absolute http or https URL. Whether its host may be
// called is decided at each delivery, because the addresses of a host change.
func checkURL(address string) error {
	if len(address) > maxURL || !utf8.ValidString(address) {
		return refuse("url: it must be valid UTF-8 of at most %d bytes", maxURL)
	}
	parsed, err := url.Parse(address)
	switch {
	case err != nil, parsed.Host == "", parsed.Scheme != "https" && parsed.Scheme != "http":
		return refuse("url: it must be an absolute address such as https://example.com/hook")
	case parsed.User != nil:
		return refuse("url: leave user name and password out; receivers verify the signature")
	case parsed.Fragment != "":
		return refuse("url: leave the part after # out; it is not sent")
	}
	return nil
}

func refuse(format string, args ...any) error {
	return domain.Refuse(domain.InvalidWebhook, format, args...)
}
