package httpapi

import (
	"slices"
	"strconv"
	"strings"

	"linkledger/commands"
)

// maxLabels bounds the different labels of one call: the tags that it creates are appended whole, and have to fit.
const maxLabels = 1000

// urlPayload are the fields of one URL to create or to edit. Nil is not given.
type urlPayload struct {
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
func readURLPayload(item *object) (urlPayload, error) {
	p := urlPayload{
		Hash:           item.text("hash"),
		LongURL:        item.text("long_url"),
		CustomHash:     item.text("custom_hash"),
		Note:           item.text("note"),
		EmailStats:     item.boolean("email_stats"),
		Ping:           item.boolean("ping"),
		Protected:      item.boolean("protected"),
		Archived:       item.boolean("archived"),
		ExpirationDate: item.text("expiration_date"),
		MaxClicks:      item.integer("max_clicks"),
		Tags:           item.list("tags"),
	}
	return p, item.err
}

func (p urlPayload) create() commands.CreateURL {
	return commands.CreateURL{
		LongURL: given(p.LongURL), CustomHash: given(p.CustomHash), Note: given(p.Note), EmailStats: given(p.EmailStats),
		ExpirationDate: given(p.ExpirationDate), MaxClicks: given(p.MaxClicks), Tags: p.Tags,
	}
}

func (p urlPayload) edit() commands.EditURL {
	return commands.EditURL{
		Ref:        commands.Ref{Hash: given(p.Hash)},
		CustomHash: p.CustomHash, LongURL: p.LongURL, Note: p.Note, EmailStats: p.EmailStats, Ping: p.Ping,
		Protected: p.Protected, Archived: p.Archived, ExpirationDate: p.ExpirationDate, MaxClicks: p.MaxClicks, Tags: p.Tags,
	}
}

// failed echoes the item beside its error.
func (p urlPayload) failed(err *itemError) failedItem {
	return failedItem{Hash: given(p.Hash), LongURL: p.LongURL, CustomHash: p.CustomHash, Error: err}
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
func urlItems(body object, limit int) ([]object, error) {
	items := body.objects("urls")
	switch {
	case body.err != nil:
		return nil, body.err
	case len(items) == 0:
		return nil, &apiError{code: codeMissingInput, details: "urls is missing or empty"}
	case len(items) > limit:
		return nil, errBatchLimit(limit, strconv.Itoa(len(items)))
	}
	return items, nil
}

// payloadLimits are how large a body is at most.
type payloadLimits struct {
	Body  int64 // bytes
	Items int
}

// create reads the items of a creation.
func (l payloadLimits) create(c *exchange) ([]urlPayload, error) {
	body, err := readBody(c, l.Body)
	if err != nil {
		return nil, err
	}
	items, err := urlItems(body, l.Items)
	if err != nil {
		return nil, err
	}
	return readURLPayloads(items)
}

// edit reads the items of an edit.
func (l payloadLimits) edit(c *exchange) ([]urlPayload, error) {
	body, err := readBody(c, l.Body)
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
		if items[i].isNull("expiration_date") { // in an edit null is a value
			payloads[i].ExpirationDate = new("")
		}
	}
	return payloads, nil
}

// readURLPayloads reads all items before anything is done about one of them.
func readURLPayloads(items []object) ([]urlPayload, error) {
	payloads := make([]urlPayload, len(items))
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
		return nil, wrongInput("One call may name %s, not %d", count(maxLabels, "different tag"), len(labels))
	}
	return payloads, nil
}

// eachOnce returns the different texts of a list, each where it is first. However often one edit names a tag, it means the
// same; and it may be an edit of many URLs.
func eachOnce(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(text string) bool {
		again := seen[text]
		seen[text] = true
		return again
	})
}
