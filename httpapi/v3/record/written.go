package record

import (
	"cmp"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/queries"
)

// Sent has the fields of a URL that a call has sent. A nil field was not sent.
type Sent struct {
	LongURL *string
	Note    *string
	events.SettingsChange
	Tags    []string // labels to attach
	Creates bool     // the call creates the URL with these tags and no others
}

// Written returns the record of a URL that a call has created or changed. The field error of the
// record states success.
func (b *Builder) Written(c *request.Context, link queries.Link, sent Sent) any {
	full, done := b.of(c, link), response.NewItemError(apierror.Failure{})
	if c.Scopes().Have(access.LinksRead) {
		if c.Bound != nil {
			full.Tags = asSent(full.Tags, sent.Tags)
		}
		full.Error = done
		return &full
	}
	r := &contract.SentURL{
		Hash: full.Hash, LongURL: sent.LongURL, ShortURL: full.ShortURL,
		ShortURLWithProtocol: full.ShortURLWithProtocol, Clicks: full.Clicks,
		SettingsChange: contract.SettingsChange(sent.SettingsChange),
		Links:          full.Links, Error: done,
	}
	if sent.Note != nil {
		r.Note = new(domain.TrimNote(*sent.Note))
	}
	if date := sent.ExpirationDate; date != nil {
		r.ExpirationDate = response.TextOrNull(*date)
	}
	if sent.Creates {
		r.Tags = domain.DistinctLabels(sent.Tags)
		r.CreatedAt = &full.CreatedAt
	}
	return r
}

// Labels returns the labels of tags as the caller sees them. A key that is bound to tags sees them
// in lower case, because the stored spelling would reveal whether a label that the key has just
// attached existed before, on URLs that the key does not see.
func Labels(c *request.Context, stored []string) []string {
	if stored == nil {
		return []string{}
	}
	if c.Bound == nil {
		return stored
	}
	labels := make([]string, len(stored))
	for i, label := range stored {
		labels[i] = domain.PlainLabel(label)
	}
	return labels
}

// asSent returns the labels plain, which are in lower case. A label that is also in sent is
// returned as it is spelled there.
func asSent(plain, sent []string) []string {
	if len(sent) == 0 {
		return plain
	}
	spelled := make(map[string]string, len(sent))
	for _, label := range domain.DistinctLabels(sent) {
		spelled[domain.PlainLabel(label)] = label
	}
	labels := make([]string, len(plain))
	for i, label := range plain {
		labels[i] = cmp.Or(spelled[label], label)
	}
	return labels
}

// Refused returns the record of a URL that a command has refused to change. It is for calls that do
// not name their URLs, such as an undo.
func Refused(
	c *request.Context, outcome linkwrite.Outcome, err *contract.ItemError,
) contract.FailedURL {
	failed := contract.FailedURL{Hash: outcome.URL.Hash, Error: *err}
	if c.Scopes().Have(access.LinksRead) {
		failed.LongURL = &outcome.URL.LongURL
	}
	return failed
}
