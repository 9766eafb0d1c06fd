package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/response"
)

// TestIdempotencyKeysAreThoseOfOneCall checks that another call under a used Idempotency-Key is
// refused on every node, changes nothing and returns nothing of the first call's response.
func TestIdempotencyKeysAreThoseOfOneCall(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, bob := s.client(t, "alice"), s.client(t, "bob")
	c.create(`"long_url":"https://example.com/0","custom_hash":"zero","tags":["t"]`)
	key := header("Idempotency-Key", "f0e1d2c3")
	first := c.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"}]}`, key)
	label := header("Idempotency-Key", "label")
	c.must("POST", "/v3/tags", `{"label":"first"}`, label)
	form := header("Content-Type", "application/x-www-form-urlencoded")
	same := `{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"}]}`

	other := newStackOn(t, s.events)
	other.caughtUp(t)
	there := &client{t: t, handler: other.handler, username: c.username, key: c.key}
	for _, node := range []*client{c, there} {
		for _, tc := range []struct {
			method, path, body string
			changes            []with
		}{
			{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/2","custom_hash":"one"}]}`, []with{key}},
			{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1","custom_hash":"two"}]}`, []with{key}},
			{
				"POST", "/v3/urls",
				`{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"},{"long_url":"https://example.com/2"}]}`,
				[]with{key},
			},
			{"POST", "/v3/urls?disable_long_url_duplicates=1", same, []with{key}},
			{"PATCH", "/v3/urls/zero", same, []with{key}},
			{"DELETE", "/v3/urls/zero", "", []with{key}},
			{"DELETE", "/v3/urls?hashes=zero", "", []with{key}},
			{"DELETE", "/v3/stats?tags=t", "", []with{key}},
			{"POST", "/v3/urls/zero/restore", `{"version":0}`, []with{key}},
			{"POST", "/v3/batches/" + first.header.Get(response.HeaderBatchID) + "/undo", "", []with{key}},
			{"POST", "/v3/urls", "urls[0][long_url]=https://example.com/3&urls[0][custom_hash]=one", []with{key, form}},
			{"POST", "/v3/tags", `{"label":"second"}`, []with{label}},
			{"PATCH", "/v3/tags/first", `{"label":"first"}`, []with{label}},
		} {
			a := node.call(tc.method, tc.path, tc.body, tc.changes...)
			a.is(http.StatusBadRequest, apierror.CodeWrongInput)
			a.has("Idempotency-Key")
			equal(t, "URLs in the answer", len(a.URLs), 0)
			equal(t, "batch", a.header.Get(response.HeaderBatchID), "")
		}
		again := node.must("POST", "/v3/urls/", " "+same, key)
		equal(t, "position of a repeat", again.header.Get("X-Event-Position"), first.header.Get("X-Event-Position"))
		equal(t, "label of a repeat", node.must("POST", "/v3/tags", `{"label":"first"}`, label).Tags[0].Label, "first")
		equal(t, "URLs", node.must("GET", "/v3/urls", "").Page.TotalCount, 2)
		equal(t, "tags", len(node.must("GET", "/v3/tags", "").Tags), 2)
		equal(t, "long_url", *node.read("zero").LongURL, "https://example.com/0")
	}
	bob.must("POST", "/v3/tags", `{"label":"second"}`, label)
}

// TestCallsThatRaceUnderOneKey checks that of concurrent calls under one key only those with the
// same content succeed.
func TestCallsThatRaceUnderOneKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	var carriedOut atomic.Int32
	together(16, func(i int) {
		a := c.call("POST", "/v3/tags", fmt.Sprintf(`{"label":"tag%d"}`, i/2), header("Idempotency-Key", "racing"))
		if a.status == http.StatusOK {
			carriedOut.Add(1)
			return
		}
		a.is(http.StatusBadRequest, apierror.CodeWrongInput)
	})
	equal(t, "calls carried out", carriedOut.Load(), 2)
	equal(t, "tags", len(c.must("GET", "/v3/tags", "").Tags), 1)
}

// TestRepeatsInOtherSpellings checks that a form with another boundary is the same call, and so is
// equal JSON in another notation.
func TestRepeatsInOtherSpellings(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	key := header("Idempotency-Key", "form")
	hash := ""
	for _, boundary := range []string{"first", "second"} {
		var body strings.Builder
		for _, field := range [][2]string{
			{"urls[0][long_url]", "https://example.com/"},
			{"urls[0][tags][]", "a"},
			{"urls[0][tags]", "b"},
			{"urls[0][tags][]", "c"},
		} {
			fmt.Fprintf(
				&body, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, field[0], field[1],
			)
		}
		a := c.must(
			"POST", "/v3/urls", body.String()+"--"+boundary+"--\r\n", key,
			header("Content-Type", "multipart/form-data; boundary="+boundary),
		)
		if hash != "" {
			equal(t, "hash of the repeat", a.URLs[0].Hash, hash)
		}
		hash = a.URLs[0].Hash
	}
	json := header("Idempotency-Key", "json")
	hash = c.must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","note":"x"}]}`, json).URLs[0].Hash
	equal(
		t, "hash",
		c.must(
			"POST", "/v3/urls", `{ "urls": [ { "note":"\u0078", "long_url": "https:\/\/example.com/" } ] }`, json,
		).URLs[0].Hash,
		hash,
	)
}

// TestRepeatOfACallThatWasCutOff checks that a repeated call does all of its work if the process
// ended after it recorded the key and before it did anything else.
func TestRepeatOfACallThatWasCutOff(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`
	var payload any
	if err := json.Unmarshal([]byte(body), &payload); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal([]any{"POST", "/v3/urls", "", payload})
	if err != nil {
		t.Fatal(err)
	}
	command := uuid.NewSHA1(uuid.MustParse(c.id), []byte("POST\n/v3/urls\ncut-off"))
	if err := s.commands.KeyCall(
		withTimeout(t), domain.Request{Account: c.id, Command: command}, "cut-off", content,
	); err != nil {
		t.Fatal(err)
	}
	c.call("POST", "/v3/urls", strings.Replace(body, "one", "two", 1), header("Idempotency-Key", "cut-off")).is(
		http.StatusBadRequest, apierror.CodeWrongInput,
	)
	c.must("POST", "/v3/urls", body, header("Idempotency-Key", "cut-off"))
	equal(t, "long_url", *c.read("one").LongURL, "https://example.com/")
	equal(t, "URLs", c.must("GET", "/v3/urls", "").Page.TotalCount, 1)
}
