package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/events"
	"linkledger/httpapi"
	"linkledger/httpapi/browsertest"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/request"
	"linkledger/httpapi/response"
	"linkledger/internal/soak"
	"linkledger/projections"
)

// place is where the description says that a call takes a value.
type place struct {
	in, name string   // body, form, path, query or header, and the name there
	path     []string // of a field of the body
	list     bool
	example  string
}

// placesOf returns all places of an operation.
func placesOf(description openapi.Document, o openapi.Operation) []place {
	var all []place
	for _, p := range o.Parameters {
		found := place{in: p.In, name: p.Name, example: fmt.Sprint(p.Example)}
		if p.Example == nil {
			found.example = ""
		}
		all = append(all, found)
	}
	for _, name := range []string{"X-Request-Id", "traceparent", "User-Agent", "X-Forwarded-For", "Referer", "Accept"} {
		all = append(all, place{in: "header", name: name, example: "a"})
	}
	schemas := make(map[string]int)
	for i, s := range description.Components.Schemas {
		schemas[s.Name] = i
	}
	var walk func(name string, path []string)
	walk = func(name string, path []string) {
		for _, field := range description.Components.Schemas[schemas[name]].Value.Properties {
			at := append(slices.Clone(path), field.Name)
			found := place{in: "body", name: strings.Join(at, "."), path: at}
			if field.Value.Items != nil {
				found.list = true
				if ref := field.Value.Items.Ref; ref != "" {
					walk(ref[strings.LastIndex(ref, "/")+1:], append(at, "0"))
				}
			}
			all = append(all, found)
		}
	}
	if o.Body != "" {
		walk(o.Body, nil)
	}
	if o.ExampleForm() == nil {
		return all
	}
	for _, at := range all {
		if at.in == "body" && len(at.path) != 1 || at.in == "body" && !at.list {
			at.in, at.name = "form", at.path[0]
			for _, step := range at.path[1:] {
				at.name += "[" + step + "]"
			}
			if at.list {
				at.name += "[]"
			}
			all = append(all, at)
		}
	}
	return all
}

// set returns the example body of an operation with a value, in JSON, at a field.
func (p place) set(body, value string) string {
	var root any
	if json.Unmarshal([]byte(body), &root) != nil {
		root = map[string]any{}
	}
	const mark = "the value goes here"
	at := root.(map[string]any)
	for _, step := range p.path[:len(p.path)-1] {
		switch next := at[step].(type) {
		case map[string]any:
			at = next
		case []any: // only its first item is changed
			at[step] = next[:1]
			at = map[string]any{"0": next[0]}
		}
	}
	at[p.path[len(p.path)-1]] = mark
	changed, _ := json.Marshal(root)
	return strings.Replace(string(changed), `"`+mark+`"`, value, 1)
}

// caller makes calls with values at a place, as an account of its own.
type caller struct {
	*httpapitest.Client
	browser *browsertest.Browser // of a member of the account
	person  string               // who may become a member
	own     *strings.Replacer
	other   string // a key of the account
	webhook string // a webhook of the account
	create  openapi.Operation
	calls   int
}

// newCaller returns the caller with a number.
func newCaller(t *testing.T, s *browsertest.Site, create openapi.Operation, n int) *caller {
	t.Helper()
	r := &caller{Client: s.Client(t, fmt.Sprint("hostile", n)), create: create}
	r.own = strings.NewReplacer("spring-sale", fmt.Sprint("spring", n), "autumn-sale", fmt.Sprint("autumn", n))
	r.browser, _ = s.Member(t, r.Client, fmt.Sprint("grace", n), "viewer")
	person, err := s.People.Known(t.Context(), domain.Request{Operator: true, Command: uuid.New()}, events.Details{
		Issuer: "https://i.example", Subject: fmt.Sprint("ida", n),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Waiter.Wait(httpapitest.WithTimeout(t), projections.Accounts, person.Position.Commit); err != nil {
		t.Fatal(err)
	}
	r.person = person.Person.ID
	return r
}

// prepare makes what an example call of an operation needs, and returns the call.
func (r *caller) prepare(o openapi.Operation) (path, body string) {
	path, body = r.own.Replace(withPerson(o.ExampleURL(), r.person)), r.own.Replace(withPerson(o.ExampleBody(), r.person))
	r.calls++
	switch {
	case o.OperationID == "createURLs":
		r.Call("DELETE", r.own.Replace("/v3/urls?hashes=spring-sale,autumn-sale"), "")
	case strings.Contains(path, "/urls") || strings.Contains(path, "/stats"):
		r.Call("POST", r.create.ExampleURL(), r.own.Replace(r.create.ExampleBody()))
	case strings.Contains(path, "/tags"):
		r.Call("POST", "/v3/tags", `{"label":"news"}`)
	case o.OperationID == "removeMember":
		r.Call("PUT", "/v3/members", `{"id":"`+r.person+`","role":"viewer"}`)
	}
	if o.OperationID == "moveSession" {
		body = strings.Replace(body, "bob", r.Username, 1)
	}
	id := ""
	switch {
	case !strings.Contains(o.Path, "{id}"):
	case strings.Contains(path, "/keys/"):
		if r.calls%50 == 1 || r.other == "" || o.Method == http.MethodDelete { // of 100 that an account may have
			if a := r.Call("POST", "/v3/keys", `{"name":"other"}`); len(a.Keys) > 0 {
				r.other = a.Keys[0].ID
				user := *r.Client
				user.Key = a.Keys[0].Key
				user.Call("POST", "/v3/urls", httpapitest.Batch(1)) // there is something to undo
			}
		}
		id = r.other
	case strings.Contains(path, "/webhooks/"):
		if r.webhook == "" || o.Method == http.MethodDelete {
			if a := r.Call("POST", "/v3/webhooks", `{"url":"http://127.0.0.1:1/hook"}`); len(a.Webhooks) > 0 {
				r.webhook = a.Webhooks[0].ID
			}
		}
		id = r.webhook
	case strings.Contains(path, "/batches/"):
		id = r.Call("POST", "/v3/urls", httpapitest.Batch(1)).Header.Get(response.HeaderBatchID)
	case strings.Contains(path, "/sessions/"):
		if a := r.Call("POST", "/v3/sessions", ""); len(a.Sessions) > 0 {
			id = a.Sessions[0].ID
		}
	}
	if id != "" {
		path = strings.ReplaceAll(path, pathExample(o), id)
	}
	return path, body
}

// sentCalls makes Idempotency-Keys.
var sentCalls atomic.Int64

// try makes a call with a value at a place.
func (r *caller) try(o openapi.Operation, at place, value string) *httpapitest.Answer {
	path, body := r.prepare(o)
	changes := []httpapitest.With{httpapitest.Header("Idempotency-Key", strconv.FormatInt(sentCalls.Add(1), 10))}
	method := o.Method
	switch at.in {
	case "body":
		body = at.set(body, value)
	case "form":
		form := url.Values{}
		for _, field := range o.ExampleForm() {
			form.Set(field.Name, r.own.Replace(withPerson(field.Value, r.person)))
		}
		form.Set(at.name, value)
		body, method = form.Encode(), http.MethodPost
		changes = append(changes, httpapitest.Header("Content-Type", httpapitest.FormType), httpapitest.Header(request.HeaderMethod, o.Method))
	case "path":
		before, after, _ := strings.Cut(openapi.Root+strings.TrimPrefix(o.Path, openapi.Root), "{"+at.name+"}")
		path = before + url.PathEscape(value) + after
	case "query":
		base, query, _ := strings.Cut(path, "?")
		values, _ := url.ParseQuery(query)
		values.Set(at.name, value)
		path = base + "?" + values.Encode()
	case "header":
		changes = append(changes, func(q *http.Request) { q.Header[http.CanonicalHeaderKey(at.name)] = []string{value} })
	}
	switch {
	case o.OperationID == "endCurrentSession":
		ending := browsertest.NewBrowser(r.T, r.Handler)
		ending.SignInBy(r.Client)
		return ending.Call(method, path, body, changes...)
	case o.NeedsSession():
		return r.browser.Call(method, path, body, changes...)
	}
	return r.Call(method, path, body, changes...)
}

// trial is a value at a place of a call.
type trial struct {
	openapi.Operation
	at    place
	value string
}

// trialsOf returns the values at all places of an operation.
func trialsOf(description openapi.Document, o openapi.Operation) []trial {
	var all []trial
	for n, at := range placesOf(description, o) {
		example := at.example
		if at.in == "body" || at.in == "form" {
			example = at.exampleIn(o.ExampleBody())
		}
		values := hostileStrings(example)
		switch at.in {
		case "body":
			values = hostileJSON(example, at.list)
		case "header":
			values = hostileTexts
		}
		for i, value := range values {
			// In make test some values of each place are tried, and all of the first in bodies.
			step := soak.N(37, 1)
			if at.in == "body" && i < soak.N(9, 16) || (i+n)%step == 0 {
				all = append(all, trial{o, at, value})
			}
		}
	}
	return all
}

// TestWhateverIsAcceptedIsApplied checks each place of each call of the description with texts,
// numbers, dates and lists that some part may not be able to store: the call is done or refused,
// and all projections apply what is accepted. A field that is new in the description is part of it.
func TestWhateverIsAcceptedIsApplied(t *testing.T) {
	t.Parallel()
	s := browsertest.NewSite(t, "", func(cfg *httpapi.Config) {
		cfg.WaitTimeout, cfg.TrustedProxies = 10*time.Second, []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	})
	var description openapi.Document
	if err := json.Unmarshal(openapi.Source(), &description); err != nil {
		t.Fatal(err)
	}
	all, err := description.Operations()
	if err != nil {
		t.Fatal(err)
	}
	create := all[slices.IndexFunc(all, func(o openapi.Operation) bool { return o.OperationID == "createURLs" })]
	callers := make(chan *caller, 12)
	for n := range cap(callers) {
		callers <- newCaller(t, s, create, n)
	}
	for _, o := range all {
		if o.Security != nil && !o.NeedsSession() {
			continue // short links and documents
		}
		var done atomic.Int64
		var trials sync.WaitGroup
		began := time.Now()
		for _, tried := range trialsOf(description, o) {
			r := <-callers
			trials.Go(func() {
				defer func() { callers <- r }()
				a := r.try(o, tried.at, tried.value)
				if a.Status >= http.StatusInternalServerError {
					t.Errorf("%s with %.60q at %s answers %d %s", o.OperationID, tried.value, tried.at.name, a.Status, a.Body)
				}
				if a.Status < http.StatusBadRequest {
					done.Add(1)
				}
			})
		}
		trials.Wait()
		t.Logf("%s: %d were done in %s", o.OperationID, done.Load(), time.Since(began))
		if done.Load() == 0 {
			t.Errorf("%s refuses all calls: its example call is refused too", o.OperationID)
		}
		neverStopped(t, s.Stack, o.OperationID)
	}
	verified(t, s.Stack)
}

// exampleIn returns the text that an example body has at the place.
func (p place) exampleIn(body string) string {
	var at any
	_ = json.Unmarshal([]byte(body), &at)
	for _, step := range p.path {
		if list, ok := at.([]any); ok {
			at = list[0]
			continue
		}
		object, _ := at.(map[string]any)
		at = object[step]
	}
	switch found := at.(type) {
	case []any:
		return fmt.Sprint(found[0])
	case nil:
		return ""
	default:
		return fmt.Sprint(found)
	}
}
