// Package payload reads the URLs that a client sends, to create or to edit them.
package payload

import (
	"slices"
	"strconv"
	"strings"

	"linkledger/commands"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/httpapi/v3/record"
	"linkledger/httpapi/v3/selection"
)

// maxLabels bounds the different labels of one call: the tags that it creates are appended whole,
// and have to fit.
const maxLabels = 1000

// URL are the fields of one URL to create or to edit. Nil is not given.
type URL struct {
	Hash           *string // of the URL to edit
	LongURL        *string
	CustomHash     *string
	Note           *string
	EmailStats     *bool
	Ping           *bool
	Protected      *bool
	Archived       *bool
	ExpirationDate *string
	MaxClicks      *int64
	Tags           []string
}

// readURLPayload reads the fields of one item. Wrong types are an error of the whole request.
func readURLPayload(item *decode.Object) (URL, error) {
	p := URL{
		Hash:           item.Text("hash"),
		LongURL:        item.Text("long_url"),
		CustomHash:     item.Text("custom_hash"),
		Note:           item.Text("note"),
		EmailStats:     item.Boolean("email_stats"),
		Ping:           item.Boolean("ping"),
		Protected:      item.Boolean("protected"),
		Archived:       item.Boolean("archived"),
		ExpirationDate: item.Text("expiration_date"),
		MaxClicks:      item.Integer("max_clicks"),
		Tags:           item.List("tags"),
	}
	return p, item.Err
}

// Create returns the command that creates the URL.
func (p URL) Create() commands.CreateURL {
	return commands.CreateURL{
		LongURL: given(p.LongURL), CustomHash: given(p.CustomHash), Note: given(p.Note),
		EmailStats:     given(p.EmailStats),
		ExpirationDate: given(p.ExpirationDate), MaxClicks: given(p.MaxClicks), Tags: p.Tags,
	}
}

// Edit returns the command that edits the URL.
func (p URL) Edit() commands.EditURL {
	return commands.EditURL{
		Ref:        commands.Ref{Hash: given(p.Hash)},
		CustomHash: p.CustomHash, LongURL: p.LongURL, Note: p.Note, EmailStats: p.EmailStats,
		Ping:      p.Ping,
		Protected: p.Protected, Archived: p.Archived, ExpirationDate: p.ExpirationDate,
		MaxClicks: p.MaxClicks, Tags: p.Tags,
	}
}

// Failed echoes the item beside its error.
func (p URL) Failed(err *response.ItemError) record.Failed {
	return record.Failed{
		Hash: given(p.Hash), LongURL: p.LongURL, CustomHash: p.CustomHash, Error: err,
	}
}

// given returns a field's value, or the zero value where it is not given.
func given[T any](field *T) T {
	if field == nil {
		var zero T
		return zero
	}
	return *field
}

// urlItems returns the items of a body within a limit.
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

// Limits are how large a body is at most.
type Limits struct {
	Body  int64 // bytes
	Items int
}

// Creations reads the items of a creation.
func (l Limits) Creations(c *request.Context) ([]URL, error) {
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

// Edits reads the items of an edit.
func (l Limits) Edits(c *request.Context) ([]URL, error) {
	body, err := decode.Body(c, l.Body)
	if err != nil {
		return nil, err
	}
	items, err := urlItems(body, l.Items)
	if err != nil {
		return nil, err
	}
	payloads, err := readURLPayloads(items)
	if err != nil {
		return nil, err
	}
	for i := range payloads {
		if items[i].IsNull("expiration_date") { // in an edit null is a value
			payloads[i].ExpirationDate = new("")
		}
	}
	return payloads, nil
}

// readURLPayloads reads all items before anything is done about one of them.
func readURLPayloads(items []decode.Object) ([]URL, error) {
	payloads := make([]URL, len(items))
	labels := make(map[string]bool)
	for i := range items {
		var err error
		if payloads[i], err = readURLPayload(&items[i]); err != nil {
			return nil, err
		}
		payloads[i].Tags = eachOnce(payloads[i].Tags)
		for _, label := range payloads[i].Tags {
			labels[strings.ToLower(label)] = true
		}
	}
	if len(labels) > maxLabels {
		return nil, apierror.WrongInput(
			"One call may name %s, not %d", apierror.Count(maxLabels, "different tag"), len(labels),
		)
	}
	return payloads, nil
}

// eachOnce returns the different texts of a list, each where it is first. However often one edit
// names a tag, it means the same; and it may be an edit of many URLs.
func eachOnce(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}
