package httpapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"linkledger/commands"
)

// maxLabels bounds the different labels of one call: the tags that it creates are appended whole, and have to fit.
const maxLabels = 1000

// validate checks the shape of payloads: what is there and in which range. The rules about values are those of commands.
var validate = newValidator()

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("name") })
	return v
}

// check refuses a payload whose shape is wrong. path is where the payload lies, as a prefix of the names in details.
func check(payload any, path string) error {
	err := validate.Struct(payload)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok {
		return fmt.Errorf("validate: %w", err)
	}
	name := path + wrong[0].Field()
	switch wrong[0].Tag() {
	case "required":
		return &apiError{code: codeMissingInput, details: name + " is missing"}
	case "min":
		return wrongInput("%s must be at least %s", name, wrong[0].Param())
	}
	return wrongInput("%s is wrong", name)
}

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

// urlItems returns the items of a body within the group limit.
func (s *server) urlItems(body object) ([]object, error) {
	items := body.objects("urls")
	switch {
	case body.err != nil:
		return nil, body.err
	case len(items) == 0:
		return nil, &apiError{code: codeMissingInput, details: "urls is missing or empty"}
	case len(items) > s.cfg.GroupLimit:
		return nil, s.batchLimit(strconv.Itoa(len(items)))
	}
	return items, nil
}

// urlPayloads reads the items of a batch.
func (s *server) urlPayloads(e *exchange) ([]urlPayload, error) {
	body, err := s.readBody(e)
	if err != nil {
		return nil, err
	}
	items, err := s.urlItems(body)
	if err != nil {
		return nil, err
	}
	return readURLPayloads(items)
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
