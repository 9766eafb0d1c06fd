// Package payload reads the bodies of calls that create or edit URLs.
package payload

import (
	"slices"
	"strconv"

	"linkledger/commands"
	"linkledger/commands/destination"
	"linkledger/commands/domain"
	"linkledger/commands/linkwrite"
	"linkledger/events"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
	"linkledger/typed"
)

// maxLabels is the most distinct labels of one call. All tags that a call creates are appended to
// the log in one append, whose size is limited.
const maxLabels = 1000

// URL has the fields of one URL to create or to edit. A nil field is not given.
type URL struct {
	Hash       *string // of the URL to edit
	LongURL    *string
	CustomHash *string
	Note       *string
	events.SettingsChange
	Tags []string
}

// readURLPayload reads the fields of one item. A field of a wrong type fails the whole call. A null
// expiration date, which removes the date, is read as an empty text.
func readURLPayload(item *decode.Object) (URL, error) {
	p := URL{
		Hash:       cleaned(item.Text("hash"), typed.Trim),
		LongURL:    cleaned(item.Text("long_url"), destination.Trim),
		CustomHash: cleaned(item.Text("custom_hash"), typed.Trim),
		Note:       item.Text("note"),
		SettingsChange: events.SettingsChange{
			EmailStats:     item.Boolean("email_stats"),
			Ping:           item.Boolean("ping"),
			Protected:      item.Boolean("protected"),
			Archived:       item.Boolean("archived"),
			ExpirationDate: item.Text("expiration_date"),
			MaxClicks:      item.Integer("max_clicks"),
		},
		Tags: distinct(item.List("tags")),
	}
	if item.IsNull("expiration_date") {
		p.ExpirationDate = new("")
	}
	return p, item.Err
}

// Create returns the command that creates the URL.
func (p URL) Create() commands.CreateURL {
	create := commands.CreateURL{
		LongURL: given(p.LongURL), CustomHash: given(p.CustomHash), Note: given(p.Note),
		Tags: p.Tags,
	}
	create.Apply(p.SettingsChange)
	create.Ping, create.Protected, create.Archived = false, false, false // only edits set them
	return create
}

// Edit returns the command that edits the URL.
func (p URL) Edit() commands.EditURL {
	return commands.EditURL{
		Ref: linkwrite.Ref{Hash: given(p.Hash)}, CustomHash: p.CustomHash, LongURL: p.LongURL,
		Note: p.Note, SettingsChange: p.SettingsChange, Tags: p.Tags,
	}
}

// Created returns the fields of the URL as the call that creates it has sent them. A field that the
// call has left out has its default, which the caller knows.
func (p URL) Created() record.Sent {
	create := p.Create()
	return record.Sent{
		LongURL: &create.LongURL, Note: &create.Note, SettingsChange: create.Change(),
		Tags: create.Tags, Creates: true,
	}
}

// Edited returns the fields of the URL that the call which edits it has sent.
func (p URL) Edited() record.Sent {
	attached, _ := commands.TagInstructions(p.Tags)
	return record.Sent{
		LongURL: p.LongURL, Note: p.Note, SettingsChange: p.SettingsChange, Tags: attached,
	}
}

// Failed returns the record of a refused item: the hash, the long URL and the custom hash that the
// call has sent, and the error of the item.
func (p URL) Failed(err *contract.ItemError) contract.FailedURL {
	return contract.FailedURL{
		Hash: given(p.Hash), LongURL: p.LongURL, CustomHash: p.CustomHash, Error: *err,
	}
}

// cleaned returns a field without the characters that pasting adds, which trim removes. If the
// field has only such characters, it stays unchanged, so that it is refused instead of counting as
// empty.
func cleaned(field *string, trim func(string) string) *string {
	if field == nil || trim(*field) == "" {
		return field
	}
	return new(trim(*field))
}

// given returns the value of a field, or the zero value if it is not given.
func given[T any](field *T) T {
	if field == nil {
		var zero T
		return zero
	}
	return *field
}

// urlItems returns the items of a body. It refuses a body with no items or with more than limit.
func urlItems(body decode.Object, limit int) ([]decode.Object, error) {
	items := body.Objects("urls")
	switch {
	case body.Err != nil:
		return nil, body.Err
	case len(items) == 0:
		return nil, &apierror.Error{
			Code: apierror.CodeMissingInput, Details: "urls is missing or empty",
		}
	case len(items) > limit:
		return nil, selection.TooMany(limit, strconv.Itoa(len(items)))
	}
	return items, nil
}

// Limits are the most bytes and items of a body.
type Limits struct {
	Body  int64 // bytes
	Items int
}

// URLs reads the body of a call that creates or edits URLs.
func (l Limits) URLs(c *request.Context) ([]URL, error) {
	body, err := decode.Body(c, l.Body)
	if err != nil {
		return nil, err
	}
	items, err := urlItems(body, l.Items)
	if err != nil {
		return nil, err
	}
	return readURLPayloads(items)
}

// readURLPayloads reads all items. If one of them is wrong, the call fails before any command runs.
func readURLPayloads(items []decode.Object) ([]URL, error) {
	payloads := make([]URL, len(items))
	labels := make(map[string]bool)
	for i := range items {
		var err error
		if payloads[i], err = readURLPayload(&items[i]); err != nil {
			return nil, err
		}
		for _, label := range payloads[i].Tags {
			labels[domain.PlainLabel(label)] = true
		}
	}
	if len(labels) > maxLabels {
		return nil, apierror.WrongInput(
			"One call may name %s, not %d", apierror.Count(maxLabels, "different tag"), len(labels),
		)
	}
	return payloads, nil
}

// distinct removes repeated texts from a list. A repeated tag has no meaning, and an edit of many
// URLs would repeat it for each of them.
func distinct(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}
