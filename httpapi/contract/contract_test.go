package contract_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"linkledger/httpapi/contract"
	"linkledger/httpapi/openapi"
)

// types are the types of the contract, by the names of their schemas.
var types = map[string]any{
	"Account":              contract.Account{},
	"AccountAnswer":        contract.AccountAnswer{},
	"AccountKey":           contract.AccountKey{},
	"Activity":             contract.Activity{},
	"ActivityAnswer":       contract.ActivityAnswer{},
	"Actor":                contract.Actor{},
	"ChangedURL":           contract.ChangedURL{},
	"ChangedURLsAnswer":    contract.ChangedURLsAnswer{},
	"CheckAnswer":          contract.CheckAnswer{},
	"ClickSent":            contract.ClickSent{},
	"Counter":              contract.Counter{},
	"CurrentSession":       contract.CurrentSession{},
	"CurrentSessionAnswer": contract.CurrentSessionAnswer{},
	"Day":                  contract.Day{},
	"DeletedURL":           contract.DeletedURL{},
	"DeletedURLsAnswer":    contract.DeletedURLsAnswer{},
	"DeliveriesAnswer":     contract.DeliveriesAnswer{},
	"Delivery":             contract.Delivery{},
	"DimensionValue":       contract.DimensionValue{},
	"Dimensions":           contract.Dimensions{},
	"DimensionsAnswer":     contract.DimensionsAnswer{},
	"DomainsAnswer":        contract.DomainsAnswer{},
	"EndedSessionAnswer":   contract.EndedSessionAnswer{},
	"Envelope":             contract.Envelope{},
	"Error":                contract.Error{},
	"Event":                contract.Event{},
	"EventData":            contract.EventData{},
	"FailedURL":            contract.FailedURL{},
	"Head":                 contract.Head{},
	"HeadAnswer":           contract.HeadAnswer{},
	"HistoryAnswer":        contract.HistoryAnswer{},
	"HistoryEvent":         contract.HistoryEvent{},
	"ItemError":            contract.ItemError{},
	"KeyPayload":           contract.KeyPayload{},
	"KeysAnswer":           contract.KeysAnswer{},
	"LinkLife":             contract.LinkLife{},
	"Links":                contract.Links{},
	"Member":               contract.Member{},
	"MemberPayload":        contract.MemberPayload{},
	"MembersAnswer":        contract.MembersAnswer{},
	"Membership":           contract.Membership{},
	"Page":                 contract.Page{},
	"Past":                 contract.Past{},
	"ProofAnswer":          contract.ProofAnswer{},
	"ProofPayload":         contract.ProofPayload{},
	"RedeliveryAnswer":     contract.RedeliveryAnswer{},
	"RedeliveryPayload":    contract.RedeliveryPayload{},
	"Restoration":          contract.Restoration{},
	"Session":              contract.Session{},
	"SessionPayload":       contract.SessionPayload{},
	"SessionsAnswer":       contract.SessionsAnswer{},
	"ShortDomain":          contract.ShortDomain{},
	"Stats":                contract.Stats{},
	"StatsAnswer":          contract.StatsAnswer{},
	"Tag":                  contract.Tag{},
	"TagChange":            contract.TagChange{},
	"TagPayload":           contract.TagPayload{},
	"TagsAnswer":           contract.TagsAnswer{},
	"Tenure":               contract.Tenure{},
	"TestDelivery":         contract.TestDelivery{},
	"TestDeliveryAnswer":   contract.TestDeliveryAnswer{},
	"TinyCCClick":          contract.TinyCCClick{},
	"URL":                  contract.URL{},
	"URLsAnswer":           contract.URLsAnswer[contract.URL]{},
	"UndoAnswer":           contract.UndoAnswer{},
	"Webhook":              contract.Webhook{},
	"WebhookPayload":       contract.WebhookPayload{},
	"WebhooksAnswer":       contract.WebhooksAnswer{},
}

// others are the schemas that no type stands for, with the reason.
var others = map[string]string{
	"ItemSuccess":       "an ItemError without an error",
	"NewURL":            "v3 reads the fields of URLs one by one, from forms too",
	"NewURLs":           "as NewURL",
	"OneURLEdit":        "as NewURL",
	"Role":              "a text",
	"URLEdit":           "as NewURL",
	"URLEdits":          "as NewURL",
	"Version":           "a text",
	"WrittenURLsAnswer": "a URLsAnswer without page and time",
}

// nullable are the lists that may be null.
var nullable = []string{"AccountKey.scopes", "AccountKey.networks", "Webhook.kinds", "Webhook.urls"}

// schema is the part of a JSON schema that is compared with types.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a text or a list of texts
	OneOf                []schema
	Properties           map[string]schema
	Required             []string
	Items                *schema
	AdditionalProperties json.RawMessage
}

var described = func() map[string]schema {
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(openapi.Source(), &document); err != nil {
		panic(err)
	}
	return document.Components.Schemas
}()

// resolved returns the schema that s refers to, and whether s also allows null.
func (s schema) resolved() (_ schema, null bool) {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if name == "ItemSuccess" {
			name = "ItemError" // without an error
		}
		return described[name], false
	}
	if len(s.OneOf) == 2 && s.OneOf[1].Type == "null" {
		one, _ := s.OneOf[0].resolved()
		return one, true
	}
	if kinds, ok := s.Type.([]any); ok && len(kinds) == 2 && kinds[1] == "null" {
		s.Type = kinds[0]
		return s, true
	}
	return s, false
}

func TestEverySchemaHasAType(t *testing.T) {
	t.Parallel()
	for name := range described {
		_, typed := types[name]
		if _, other := others[name]; typed == other {
			t.Errorf("%s has a type: %v; has none for a reason: %v", name, typed, other)
		}
	}
	for name := range others {
		if _, ok := described[name]; !ok {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func TestTypesAreTheSchemas(t *testing.T) {
	t.Parallel()
	for name, value := range types {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := described[name]
			if !ok {
				t.Fatal("there is no such schema")
			}
			isObject(t, name, reflect.TypeOf(value), s)
		})
	}
}

// TestSentURL checks that the fields of a URL for callers without links:read are fields of URL, and
// that those which are always there are the required ones.
func TestSentURL(t *testing.T) {
	t.Parallel()
	all, sent := make(map[string]field), make(map[string]field)
	addFields(all, reflect.TypeFor[contract.URL](), false)
	addFields(sent, reflect.TypeFor[contract.SentURL](), false)
	var always []string
	for name, f := range sent {
		if _, ok := all[name]; !ok {
			t.Errorf("URL has no field %s", name)
		}
		if !f.optional && name != "error" { // which only writes answer
			always = append(always, name)
		}
	}
	required := slices.Sorted(slices.Values(described["URL"].Required))
	if slices.Sort(always); !slices.Equal(always, required) {
		t.Errorf("always there are %q; required are %q", always, required)
	}
}

func TestTimestamp(t *testing.T) {
	t.Parallel()
	at := contract.Timestamp{Time: time.Date(2026, 5, 14, 14, 0, 0, 5, time.FixedZone("", 7200))}
	encoded, err := json.Marshal(at)
	if err != nil || string(encoded) != `"2026-05-14T12:00:00+00:00"` {
		t.Fatalf("encoded as %s, %v", encoded, err)
	}
	var decoded contract.Timestamp
	if err := json.Unmarshal(encoded, &decoded); err != nil || !decoded.Equal(at.Truncate(time.Second)) {
		t.Errorf("decoded as %v, %v", decoded, err)
	}
}

// field is a field of a type as JSON has it.
type field struct {
	of       reflect.Type
	optional bool // it may be absent
}

// addFields adds the fields of a struct as encoding/json takes them: the fields of an embedded struct are fields of the
// outer one, unless it has one of the same name.
func addFields(to map[string]field, of reflect.Type, optional bool) {
	for f := range of.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != "" {
			to[tag] = field{f.Type, optional || strings.HasPrefix(options, "omit")}
		}
	}
	for f := range of.Fields() {
		if !f.Anonymous {
			continue
		}
		inner, pointer := f.Type, f.Type.Kind() == reflect.Pointer
		if pointer {
			inner = inner.Elem()
		}
		embedded := make(map[string]field)
		addFields(embedded, inner, optional || pointer)
		for name, f := range embedded {
			if _, hidden := to[name]; !hidden {
				to[name] = f
			}
		}
	}
}

// isObject checks that a struct has the properties of a schema.
func isObject(t *testing.T, at string, of reflect.Type, s schema) {
	t.Helper()
	fields := make(map[string]field)
	addFields(fields, of, false)
	for name := range s.Properties {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s.%s is described, and the type does not have it", at, name)
		}
	}
	for name, f := range fields {
		property, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s.%s is not described", at, name)
			continue
		}
		required := slices.Contains(s.Required, name)
		// Callers without links:read get a SentURL, which leaves out most fields of a URL.
		if required == f.optional && (required || at != "URL") && !strings.HasSuffix(at, "Payload") {
			t.Errorf("%s.%s is required: %v; may be absent: %v", at, name, required, f.optional)
		}
		isValue(t, at+"."+name, f, property)
	}
}

// isValue checks that a field is of the kind that a schema describes, and null only if it says so.
func isValue(t *testing.T, at string, f field, s schema) {
	t.Helper()
	s, null := s.resolved()
	of := f.of
	if pointer := of.Kind() == reflect.Pointer; pointer {
		of = of.Elem()
		if !f.optional && !null {
			t.Errorf("%s is a pointer, and never null", at)
		}
	} else if null && !slices.Contains(nullable, at) && !strings.Contains(at, "Payload.") {
		t.Errorf("%s may be null, and is no pointer", at)
	}
	kind := "object"
	switch {
	case of == reflect.TypeFor[json.RawMessage]():
		if s.Type != nil {
			t.Errorf("%s may be anything; want %v", at, s.Type)
		}
		return
	case of == reflect.TypeFor[time.Time](), of == reflect.TypeFor[contract.Timestamp](),
		of.Kind() == reflect.String:
		kind = "string"
	case of.Kind() == reflect.Bool:
		kind = "boolean"
	case slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64}, of.Kind()):
		kind = "integer"
	case of.Kind() == reflect.Slice:
		kind = "array"
	}
	if s.Type != kind {
		t.Errorf("%s is of the type %s, thus %s; want %v", at, of, kind, s.Type)
		return
	}
	switch of.Kind() {
	case reflect.Slice:
		isValue(t, at+"[]", field{of: of.Elem()}, *s.Items)
	case reflect.Map:
		var values schema
		if err := json.Unmarshal(s.AdditionalProperties, &values); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		isValue(t, at+"{}", field{of: of.Elem()}, values)
	case reflect.Struct:
		if kind == "object" {
			isObject(t, of.Name(), of, s)
		}
	default: // it has no parts
	}
}
